//! The browsers that are paired with the page: pairing, listing and revoking.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::private_json::PrivateJson;
use crate::core::inside_session;
use crate::{Answer, App};
use fairway_core::api_client::ApiClient;
use fairway_core::api_client::server_files::ShownPage;
use fairway_core::config::Project;
use fairway_core::domain::device::{self, Device, DeviceAccess, PAIRING_LIFETIME, PairedDevices, Pairing};
use fairway_core::domain::id::DeviceName;
use fairway_core::domain::{Refusal, plural};
use fairway_core::os::random;
use fairway_core::wire::{DevicePairView, DeviceRevokedView, DeviceView};

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct PairingRequest {
    pub access: DeviceAccess,
    /// The name of the device; `None` if the browser chooses it.
    pub name: Option<DeviceName>,
    pub lifetime: Duration,
    /// The name of the paired device from which the code is made; `None` for the terminal.
    pub paired_from: Option<String>,
}

/// A new pairing code, for a link and for typing.
#[derive(Debug)]
pub struct NewCode {
    /// The code in a link.
    pub link: String,
    /// The code that is typed.
    pub typed: String,
    pub expires_at: fairway_core::env::Timestamp,
}

/// The devices that are paired now, in the order of their pairing.
pub fn list(app: &App) -> Result<Vec<DeviceView>> {
    let mut devices = DeviceFile::of(&app.project).read()?;
    devices.prune(app.env.now());
    Ok(devices.devices.iter().map(view).collect())
}

fn view(device: &Device) -> DeviceView {
    DeviceView {
        name: device.name.clone(),
        access: device.access,
        way: device.way,
        paired_at: device.paired_at,
        paired_from: device.paired_from.clone(),
        expires_at: device.expires_at,
        seen_at: device.seen_at,
    }
}

/// Makes a code that pairs one browser. `host` is the host name of the page on this machine; it is stored with the devices, so
/// that later servers use the same name.
///
/// # Errors
/// `devices_unreadable`.
pub fn make_code(app: &App, host: &str, request: &PairingRequest) -> Result<NewCode> {
    let link = random::hex().context("cannot generate a code")?;
    let typed = device::typed_code(random::bytes().context("cannot generate a code")?);
    let now = app.env.now();
    let pairing = Pairing {
        link: device::digest(&link),
        code: Some(device::digest(&typed)),
        access: request.access,
        name: request.name.as_ref().map(ToString::to_string),
        paired_from: request.paired_from.clone(),
        expires_at: now.plus(request.lifetime),
        valid_until: now.plus(PAIRING_LIFETIME),
        wrong_codes: 0,
    };
    let expires_at = DeviceFile::of(&app.project).change(|devices| {
        devices.add_pairing(pairing, now);
        devices.host = Some(host.to_owned());
        devices.pairings.last().map_or(now, |pairing| pairing.expires_at)
    })?;
    Ok(NewCode { link, typed, expires_at })
}

/// Makes a pairing code, with links to the running server.
///
/// # Errors
/// `inside_session`; `no_page_server`; `devices_unreadable`.
pub fn pair(app: &App, request: &PairingRequest) -> Result<DevicePairView> {
    inside_session::refuse(app, "device pair")?;
    let runtime = app.project.runtime_dir();
    let page = ShownPage::read(&runtime).filter(|_| ApiClient::connect(&runtime, CONNECT_TIMEOUT).is_some());
    let page = page.ok_or(Refusal::NoPageServer)?;
    let code = make_code(app, &page.host, request)?;
    let origins = page.network.iter().chain([&page.origin]);
    Ok(DevicePairView {
        links: origins.map(|origin| pairing_link(origin, &code.link)).collect(),
        is_in_network: page.network.is_some(),
        code: device::shown_code(&code.typed),
        access: request.access,
        name: request.name.as_ref().map(ToString::to_string),
        valid_until: app.env.now().plus(PAIRING_LIFETIME),
        expires_at: code.expires_at,
        fingerprint: page.fingerprint,
    })
}

pub fn pairing_link(origin: &str, code: &str) -> String {
    format!("{origin}/pair?code={code}")
}

/// Revokes a device, and those that were paired from it.
///
/// # Errors
/// `inside_session`; `not_found`; `devices_unreadable`.
pub fn revoke(app: &App, name: &DeviceName) -> Result<Answer> {
    inside_session::refuse(app, "device revoke")?;
    let now = app.env.now();
    let gone = DeviceFile::of(&app.project).change(|devices| {
        devices.prune(now);
        let gone = devices.revoke(name.as_str());
        devices.prune(now);
        gone
    })?;
    let Some((own, others)) = gone.split_first() else {
        return Err(Refusal::not_found("device", name.as_str()).into());
    };
    let line = match others {
        [] => format!("revoked {own}"),
        others => {
            let count = plural::count(others.len(), "device");
            format!("revoked {own}, and {count} that were paired from it: {}", others.join(", "))
        }
    };
    Answer::new(&DeviceRevokedView { name: own.clone(), revoked: gone.clone() }, own, line)
}

pub(super) const NAME: &str = "devices";

/// Reads the paired devices, and changes them under a lock.
#[derive(Debug, Clone)]
pub struct DeviceFile(PrivateJson);

impl DeviceFile {
    pub fn of(project: &Project) -> Self {
        Self(PrivateJson::new(&project.state, NAME))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The paired devices; none when the file does not exist.
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
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

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
