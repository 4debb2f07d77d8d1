//! Values that are kept with a session, over the environment that it was started with.

use std::{fs, io};

use super::{
    Folder,
    session_dir::{META, token},
};
use crate::os::files;

impl Folder {
    /// The value of a key, byte by byte; `None` when it is unset or there is no such session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn value(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(start) = self.start()? else { return Ok(None) };
        match fs::read(self.file(META).join(place(key))) {
            Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(start.var(key).map(Into::into)),
            Err(error) => Err(error),
        }
    }

    /// Keeps a value. Without such a session it does nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_value(&self, key: &str, value: &[u8]) -> io::Result<()> {
        if self.start()?.is_none() {
            return Ok(());
        }
        files::private_dir(&self.file(META))?;
        files::write_passing(&self.file(META).join(place(key)), value, 0o600)
    }

    /// Forgets a value. Without such a session it does nothing.
    ///
    /// # Errors
    /// When it cannot be forgotten.
    pub fn unset_value(&self, key: &str) -> io::Result<()> {
        // An empty one is unset, also where the start environment has one.
        self.set_value(key, b"")
    }
}

/// The name of a key's file; what is too long for a file system is told by its digest.
fn place(key: &str) -> String {
    let safe = format!("k-{}", token(key));
    if safe.len() > 200 { format!("l-{}", crate::adapters::builtin_scripts::digest(key.as_bytes())) } else { safe }
}
