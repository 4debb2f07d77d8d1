//! Private files in the project's state directory: JSON that this user alone may read and write, changed under a lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use fairway_core::os::lock::FileLock;
use fairway_core::os::{files, user};

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: u64 = 1 << 20;
/// The version of the format.
const VERSION: u32 = 1;

/// A private file with JSON.
#[derive(Debug, Clone)]
pub(super) struct PrivateJson {
    path: PathBuf,
    lock: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Content<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

impl PrivateJson {
    pub(super) fn new(dir: &Path, name: &str) -> Self {
        Self { path: dir.join(format!("{name}.json")), lock: dir.join(format!("{name}.lock")) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the content; the default value when the file does not exist.
    ///
    /// # Errors
    /// When others can read or write the file, when it is a link, or when this version does not understand it.
    pub(super) fn read<T: DeserializeOwned + Default>(&self) -> io::Result<T> {
        let text = match read_private(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            other => other?,
        };
        let content: Content<T> = serde_json::from_str(&text).map_err(io::Error::other)?;
        match content.version {
            VERSION => Ok(content.value),
            other => Err(io::Error::other(format!("it has the form {other}, not {VERSION}"))),
        }
    }

    /// Acquires the lock that each change needs. Fails with `TimedOut` when another process keeps it.
    pub(super) fn lock(&self) -> io::Result<FileLock> {
        FileLock::acquire_within(&self.lock, LOCK_TIMEOUT)?.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    pub(super) fn write<T: Serialize>(&self, value: &T) -> io::Result<()> {
        let text = serde_json::to_vec(&Content { version: VERSION, value }).map_err(io::Error::other)?;
        files::write_atomic(&self.path, &text, 0o600)
    }
}

/// Reads a file, and fails unless only this user can read and write it.
pub(super) fn read_private(path: &Path) -> io::Result<Zeroizing<String>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file: File = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let found = file.metadata()?;
    let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
    if !found.is_file() {
        return refuse("it is no file");
    }
    if found.uid() != user::uid() {
        return refuse("it belongs to another user");
    }
    if found.mode() & 0o077 != 0 {
        return refuse("others can read or write it (its mode must be 0600)");
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
