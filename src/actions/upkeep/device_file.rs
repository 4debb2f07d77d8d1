//! The file of the paired devices, in the project's state directory. It is no part of the store: a key is valid at the servers of
//! this checkout, and neither a backup that is restored nor another host may bring a revoked one back.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::private_json::PrivateJson;
use crate::{
    config::Project,
    domain::{Refusal, device::PairedDevices},
};

/// The file's name, in the state directory.
pub(super) const NAME: &str = "devices";

/// Reads the paired devices, and changes them under a lock.
#[derive(Debug, Clone)]
pub struct DeviceFile(PrivateJson);

impl DeviceFile {
    /// The file of a project.
    pub fn of(project: &Project) -> Self {
        Self(PrivateJson::new(&project.state, NAME))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The devices; none without a file.
    ///
    /// # Errors
    /// `devices_unreadable` for a file that others can write, that is a link, or that this version does not understand.
    pub fn read(&self) -> Result<PairedDevices> {
        let file = || self.path().display().to_string();
        let unreadable = |why: std::io::Error| Refusal::DevicesUnreadable { file: file(), why: why.to_string() };
        Ok(self.0.read().map_err(unreadable)?)
    }

    /// Changes the devices under the lock, and writes them if they differ from what was read.
    ///
    /// # Errors
    /// `devices_unreadable`; when the file cannot be written.
    pub fn change<T>(&self, change: impl FnOnce(&mut PairedDevices) -> T) -> Result<T> {
        let cannot = || format!("cannot change {}", self.path().display());
        let _lock = self.0.lock().with_context(cannot)?;
        let mut devices = self.read()?;
        let before = devices.clone();
        let result = change(&mut devices);
        if devices != before {
            self.0.write(&devices).with_context(cannot)?;
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    };

    use super::*;

    #[test]
    fn file_that_another_could_have_written_has_no_devices() {
        let home = tempfile::tempdir().unwrap();
        let file = DeviceFile(PrivateJson::new(home.path(), NAME));
        assert_eq!(file.read().unwrap(), PairedDevices::default());
        file.change(|devices| devices.host = Some("fairway-1".into())).unwrap();
        assert_eq!(file.read().unwrap().host.as_deref(), Some("fairway-1"));
        let mode = |mode| fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
        for wide in [0o620, 0o602, 0o640] {
            mode(wide);
            assert!(file.read().is_err() && file.change(|_| ()).is_err(), "{wide:o}");
        }
        mode(0o600);
        for text in ["", "{}", r#"{"version":2,"host":null,"devices":[],"pairings":[]}"#] {
            fs::write(file.path(), text).unwrap();
            assert!(file.read().is_err(), "{text}");
        }
        let target = home.path().join("target");
        fs::rename(file.path(), &target).unwrap();
        std::os::unix::fs::symlink(&target, file.path()).unwrap();
        assert!(file.read().is_err());
    }
}
