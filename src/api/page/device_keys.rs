//! The keys of the paired devices, as their file has them now: a device that is revoked is refused at the next request, and its
//! streams end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::access::Access;
use crate::api::async_fd::register_fd;
use crate::api::live_project::{FileStamp, file_stamp};
use fairway_actions::upkeep::answer_tokens::AnswerTokenFile;
use fairway_actions::upkeep::devices::DeviceFile;
use fairway_core::domain::device::{self, Device, DeviceWay, NewDevice, PairedDevices};
use fairway_core::domain::id::DeviceName;
use fairway_core::env::{Clock, Timestamp};
use fairway_core::os::file_watch::FileWatch;
use fairway_core::os::random;

/// How often an open stream checks its device at least, because clocks are set and machines sleep.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// How often the file is checked when the kernel cannot announce changes.
const FALLBACK_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct DeviceKeys {
    file: DeviceFile,
    tokens: AnswerTokenFile,
    clock: Clock,
    /// Whether this server takes keys of devices.
    is_used: bool,
    known: Mutex<(FileStamp, Arc<PairedDevices>)>,
    /// Counts the noticed changes of the file.
    changes: watch::Sender<u64>,
}

/// The key that a request has sent.
#[derive(Debug, Clone)]
pub(super) struct DeviceKey {
    pub(super) name: String,
    pub(super) access: Access,
    digest: String,
    way: DeviceWay,
}

/// The key of a device that was just paired.
#[derive(Debug)]
pub(super) struct Paired {
    pub(super) key: String,
    pub(super) lifetime: Duration,
}

impl DeviceKeys {
    pub(super) fn new(file: DeviceFile, tokens: AnswerTokenFile, clock: Clock, is_used: bool) -> Self {
        let known = Mutex::new((None, Arc::default()));
        Self { file, tokens, clock, is_used, known, changes: watch::Sender::new(0) }
    }

    /// Whether this server accepts device keys and answer tokens. A server inside a session does not.
    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// The file of the answer tokens, and the clock by which they expire.
    pub(super) fn answer_tokens(&self) -> (AnswerTokenFile, Clock) {
        (self.tokens.clone(), self.clock)
    }

    /// The devices as the file has them now. An unreadable file has none.
    fn devices(&self) -> Arc<PairedDevices> {
        if !self.is_used {
            return Arc::default();
        }
        // Taken before the file is read: what changes in between is read again.
        let stamp = file_stamp(self.file.path());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_none() || known.0 != stamp {
            *known = (stamp, Arc::new(self.file.read().unwrap_or_default()));
        }
        Arc::clone(&known.1)
    }

    /// The host name under which the devices were paired. Returns `None` when there is neither a paired device nor an open
    /// pairing code.
    pub(super) fn host(&self) -> Option<String> {
        let mut devices = (*self.devices()).clone();
        devices.prune(self.clock.now());
        devices.host
    }

    /// Finds the device that has this key, and notes that the device was seen. Returns `None` when the key is unknown, has
    /// expired, or was given for the other of the two ways to reach the page.
    pub(super) fn find(&self, key: &str, way: DeviceWay) -> Option<DeviceKey> {
        let digest = device::digest(key);
        let (devices, now) = (self.devices(), self.clock.now());
        let device = devices.of_key(&digest, way, now)?;
        self.note_seen(device, now);
        Some(DeviceKey { name: device.name.clone(), access: device.access.into(), digest, way })
    }

    fn note_seen(&self, device: &Device, now: Timestamp) {
        if device.is_seen_late(now) {
            let (file, name) = (self.file.clone(), device.name.clone());
            // The time is for people: nothing depends on it.
            tokio::task::spawn_blocking(move || file.change(|devices| devices.see(&name, now)));
        }
    }

    /// Waits until the device is revoked or expires.
    pub(super) async fn ended(&self, key: &DeviceKey) {
        let mut changes = self.changes.subscribe();
        loop {
            let (devices, now) = (self.devices(), self.clock.now());
            let Some(device) = devices.of_key(&key.digest, key.way, now) else { return };
            let left = device.expires_at.since(now).min(LOOK_INTERVAL);
            let _ = timeout(left, changes.changed()).await;
        }
    }

    /// Exchanges a pairing code for a key. Waits while another process changes the file of the devices. Errors:
    /// `pairing_refused` for a code that is not valid; `devices_unreadable`.
    pub(super) fn pair(
        &self,
        host: &str,
        code: &str,
        name: Option<&DeviceName>,
        kind: &str,
        way: DeviceWay,
    ) -> Result<Paired> {
        // Without an open code nothing is locked or written, whatever is sent.
        if self.devices().pairings.is_empty() {
            return Err(device::pairing_refused().into());
        }
        let key = random::hex().context("cannot generate a key")?;
        let now = self.clock.now();
        let device = self.file.change(|devices| {
            let new = NewDevice { name, kind, key: device::digest(&key), way };
            let device = devices.redeem(code, new, now)?;
            devices.host = Some(host.to_owned());
            Some(device)
        })?;
        let device = device.ok_or_else(device::pairing_refused)?;
        Ok(Paired { key, lifetime: device.expires_at.since(now) })
    }

    /// Watches the file of devices while the server runs, and announces each change.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut stamp = file_stamp(self.file.path());
        let mut watch = FileWatch::new();
        if let Some(directory) = self.file.path().parent() {
            watch.watch_dir(directory);
        }
        let fd = watch.fd().and_then(|fd| fd.try_clone_to_owned().ok()).and_then(|fd| register_fd(fd).ok());
        loop {
            let now = file_stamp(self.file.path());
            if now != stamp {
                stamp = now;
                self.changes.send_modify(|count| *count += 1);
            }
            match &fd {
                Some(fd) => {
                    let Ok(mut ready) = fd.readable().await else { return };
                    watch.drain();
                    ready.clear_ready();
                }
                None => sleep(FALLBACK_INTERVAL).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_core::config::Project;
    use fairway_core::domain::device::{DeviceAccess, PAIRING_LIFETIME, Pairing};
    use fairway_core::env::Env;

    #[test]
    fn server_inside_a_session_and_a_broken_file_admit_no_device() {
        let home = tempfile::tempdir().unwrap();
        let project = Project::at(home.path().to_path_buf(), &Env::from_process());
        std::fs::create_dir(&project.state).unwrap();
        let (file, now) = (DeviceFile::of(&project), Timestamp::from_millis(1_000_000));
        let tokens = AnswerTokenFile::of(&project);
        let keys = |is_used| DeviceKeys::new(file.clone(), tokens.clone(), Clock::Fixed(now), is_used);
        let pairing = |link: &str| Pairing {
            link: device::digest(link),
            code: None,
            access: DeviceAccess::Full,
            name: None,
            paired_from: None,
            expires_at: now.plus(Duration::from_secs(60)),
            valid_until: now.plus(PAIRING_LIFETIME),
            wrong_codes: 0,
        };
        for link in ["one", "two"] {
            file.change(|devices| devices.add_pairing(pairing(link), now)).unwrap();
        }
        let (used, unused) = (keys(true), keys(false));
        let pair = |keys: &DeviceKeys, code: &str| keys.pair("host", code, None, "firefox", DeviceWay::Local);
        assert!(pair(&unused, "one").is_err());
        let paired = pair(&used, "one").unwrap();
        assert_eq!((paired.lifetime.as_secs(), used.host().as_deref()), (60, Some("host")));
        let is_known = |keys: &DeviceKeys| keys.find(&paired.key, DeviceWay::Local).is_some();
        assert!(is_known(&used) && !is_known(&unused) && unused.host().is_none());
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(&paired.key) && !text.contains("\"two\""), "{text}");
        std::fs::write(file.path(), "{").unwrap();
        assert!(!is_known(&used), "a file that cannot be read admits the devices of before");
        std::fs::remove_file(file.path()).unwrap();
        assert!(!is_known(&used));
    }
}
