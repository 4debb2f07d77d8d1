//! Values that are stored with a session. They take precedence over its start environment.

use std::{fs, io};

use super::SessionDir;
use super::session_dir::{VALUES_DIR, escape_name};
use crate::os::files;

impl SessionDir {
    /// The value that was stored under the key, else the variable of that name in the start environment; `None` when the key is
    /// unset or the session does not exist.
    pub fn value(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(start) = self.start_config()? else { return Ok(None) };
        match fs::read(self.file(VALUES_DIR).join(value_file_name(key))) {
            Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(start.var(key).map(Into::into)),
            Err(error) => Err(error),
        }
    }

    /// Stores a value under the key; an empty value unsets the key. Does nothing when the session does not exist.
    pub fn set_value(&self, key: &str, value: &[u8]) -> io::Result<()> {
        if self.start_config()?.is_none() {
            return Ok(());
        }
        files::private_dir(&self.file(VALUES_DIR))?;
        files::write_atomic_nosync(&self.file(VALUES_DIR).join(value_file_name(key)), value, 0o600)
    }

    /// Unsets a key, even one that has a value in the start environment. Does nothing when the session does not exist.
    pub fn unset_value(&self, key: &str) -> io::Result<()> {
        // An empty value hides the variable of the start environment.
        self.set_value(key, b"")
    }
}

/// The name of the file for a key; a digest of it when it is too long for a file system.
fn value_file_name(key: &str) -> String {
    let safe = format!("k-{}", escape_name(key));
    if safe.len() > 200 { format!("l-{}", crate::os::digest::sha256_hex(key.as_bytes())) } else { safe }
}
