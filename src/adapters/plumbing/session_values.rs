//! Values that are kept with a session, over the environment that it was started with.

use std::{fs, io};

use super::{
    SessionDir,
    session_dir::{VALUES_DIR, escape_name},
};
use crate::os::files;

impl SessionDir {
    /// The value of a key, byte by byte; `None` when it is unset or there is no such session.
    pub fn value(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(start) = self.start_config()? else { return Ok(None) };
        match fs::read(self.file(VALUES_DIR).join(value_file_name(key))) {
            Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(start.var(key).map(Into::into)),
            Err(error) => Err(error),
        }
    }

    /// Keeps a value. Without such a session it does nothing.
    pub fn set_value(&self, key: &str, value: &[u8]) -> io::Result<()> {
        if self.start_config()?.is_none() {
            return Ok(());
        }
        files::private_dir(&self.file(VALUES_DIR))?;
        files::write_atomic_nosync(&self.file(VALUES_DIR).join(value_file_name(key)), value, 0o600)
    }

    /// Forgets a value. Without such a session it does nothing.
    pub fn unset_value(&self, key: &str) -> io::Result<()> {
        // An empty one is unset, also where the start environment has one.
        self.set_value(key, b"")
    }
}

/// The name of a key's file; what is too long for a file system is told by its digest.
fn value_file_name(key: &str) -> String {
    let safe = format!("k-{}", escape_name(key));
    if safe.len() > 200 { format!("l-{}", crate::os::digest::sha256_hex(key.as_bytes())) } else { safe }
}
