//! The file of the paired devices, in the project's state directory. It is no part of the store: a key is valid at the servers of
//! this checkout, and neither a backup that is restored nor another host may bring a revoked one back.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use crate::{
    config::Project,
    domain::{Refusal, device::PairedDevices},
    os::{files, lock::FileLock, user},
};

/// The file's name, in the state directory.
const FILE: &str = "devices.json";
/// The lock of those who change it.
const LOCK: &str = "devices.lock";
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: u64 = 1 << 20;
/// The form of the file that this version reads and writes.
const VERSION: u32 = 1;

/// Reads the paired devices, and changes them under a lock.
#[derive(Debug, Clone)]
pub struct DeviceFile {
    path: PathBuf,
    lock: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    #[serde(flatten)]
    devices: PairedDevices,
}

impl DeviceFile {
    /// The file of a project.
    pub fn of(project: &Project) -> Self {
        Self { path: project.state.join(FILE), lock: project.state.join(LOCK) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The devices; none without a file.
    ///
    /// # Errors
    /// `devices_unreadable` for a file that others can write, that is a link, or that this version does not understand.
    pub fn read(&self) -> Result<PairedDevices> {
        let unreadable = |why: String| Refusal::DevicesUnreadable { file: self.path.display().to_string(), why };
        match read_private(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PairedDevices::default()),
            Err(error) => Err(unreadable(error.to_string()).into()),
            Ok(text) => match serde_json::from_str::<Content>(&text) {
                Ok(content) if content.version == VERSION => Ok(content.devices),
                Ok(content) => Err(unreadable(format!("it has the form {}, not {VERSION}", content.version)).into()),
                Err(error) => Err(unreadable(error.to_string()).into()),
            },
        }
    }

    /// Changes the devices under the lock, and writes them if they differ from what was read.
    ///
    /// # Errors
    /// `devices_unreadable`; when the file cannot be written.
    pub fn change<T>(&self, change: impl FnOnce(&mut PairedDevices) -> T) -> Result<T> {
        let cannot = || format!("cannot change {}", self.path.display());
        let lock = FileLock::acquire_within(&self.lock, LOCK_TIMEOUT).with_context(cannot)?;
        let _lock = lock.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut)).with_context(cannot)?;
        let mut devices = self.read()?;
        let before = devices.clone();
        let result = change(&mut devices);
        if devices != before {
            let text = serde_json::to_vec(&Content { version: VERSION, devices })?;
            files::write_atomic(&self.path, &text, 0o600).with_context(cannot)?;
        }
        Ok(result)
    }
}

/// The text of a file that this user alone can write.
fn read_private(path: &Path) -> io::Result<String> {
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
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn file_that_another_could_have_written_has_no_devices() {
        let home = tempfile::tempdir().unwrap();
        let file = DeviceFile { path: home.path().join(FILE), lock: home.path().join(LOCK) };
        assert_eq!(file.read().unwrap(), PairedDevices::default());
        file.change(|devices| devices.host = Some("fairway-1".into())).unwrap();
        assert_eq!(file.read().unwrap().host.as_deref(), Some("fairway-1"));
        let mode = |mode| fs::set_permissions(&file.path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(&file.path).unwrap().mode() & 0o777, 0o600);
        for wide in [0o620, 0o602, 0o640] {
            mode(wide);
            assert!(file.read().is_err() && file.change(|_| ()).is_err(), "{wide:o}");
        }
        mode(0o600);
        for text in ["", "{}", r#"{"version":2,"host":null,"devices":[],"pairings":[]}"#] {
            fs::write(&file.path, text).unwrap();
            assert!(file.read().is_err(), "{text}");
        }
        let target = home.path().join("target");
        fs::rename(&file.path, &target).unwrap();
        std::os::unix::fs::symlink(&target, &file.path).unwrap();
        assert!(file.read().is_err());
    }
}
