//! Access to the page until the server ends: a code that is valid once and for a short time is exchanged for a key, which the
//! browser keeps in a cookie. These codes and keys are in the server's memory only. `device_keys` has those that last longer.

use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use fairway_core::domain::device::DeviceAccess;
use fairway_core::domain::secrets::constant_time_eq;

/// How long a code can be exchanged.
pub(super) const CODE_LIFETIME: Duration = Duration::from_secs(2 * 60);
/// How many codes and keys there are at most; the oldest is dropped.
const MAX_SECRETS: usize = 64;

/// The access that a key gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Allows to look.
    ReadOnly,
    /// Allows to look, and to act as the person who started the server.
    Full,
}

impl From<DeviceAccess> for Access {
    fn from(access: DeviceAccess) -> Self {
        match access {
            DeviceAccess::Full => Self::Full,
            DeviceAccess::ReadOnly => Self::ReadOnly,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Secrets {
    codes: Vec<(Zeroizing<String>, Access, Instant)>,
    keys: Vec<(Zeroizing<String>, Access)>,
}

impl Secrets {
    /// Makes a code valid until `now` plus [`CODE_LIFETIME`].
    pub(super) fn add_code(&mut self, code: &str, access: Access, now: Instant) {
        self.codes.retain(|(_, _, until)| *until > now);
        drop_oldest(&mut self.codes);
        self.codes.push((Zeroizing::new(code.to_owned()), access, now + CODE_LIFETIME));
    }

    /// Gives `key` the access of a one-time code, and uses the code up. Returns `None` when the code is unknown, used or too
    /// old.
    pub(super) fn exchange(&mut self, code: &str, key: &str, now: Instant) -> Option<Access> {
        let found = self.codes.iter().position(|(known, _, _)| constant_time_eq(known.as_bytes(), code.as_bytes()))?;
        let (_, access, until) = self.codes.swap_remove(found);
        if until <= now {
            return None;
        }
        drop_oldest(&mut self.keys);
        self.keys.push((Zeroizing::new(key.to_owned()), access));
        Some(access)
    }

    /// The access that a key gives. Returns `None` for an unknown key.
    pub(super) fn access(&self, key: &str) -> Option<Access> {
        self.keys
            .iter()
            .find(|(known, _)| constant_time_eq(known.as_bytes(), key.as_bytes()))
            .map(|(_, access)| *access)
    }
}

fn drop_oldest<T>(secrets: &mut Vec<T>) {
    if secrets.len() >= MAX_SECRETS {
        secrets.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_exchanged_once_and_not_after_its_time() {
        let (mut secrets, now) = (Secrets::default(), Instant::now());
        secrets.add_code("one", Access::Full, now);
        secrets.add_code("two", Access::ReadOnly, now);
        assert_eq!(secrets.exchange("on", "key-0", now), None);
        assert_eq!(secrets.exchange("one", "key-1", now), Some(Access::Full));
        assert_eq!(secrets.exchange("one", "key-2", now), None);
        assert_eq!(secrets.exchange("two", "key-3", now + CODE_LIFETIME), None);
        assert_eq!(secrets.exchange("two", "key-4", now), None, "a code that came too late is used up");
        assert_eq!(
            ["key-0", "key-1", "key-2", ""].map(|key| secrets.access(key)),
            [None, Some(Access::Full), None, None]
        );
    }

    #[test]
    fn oldest_key_is_dropped_at_the_limit() {
        let (mut secrets, now) = (Secrets::default(), Instant::now());
        for number in 0..=MAX_SECRETS {
            let (code, key) = (format!("c{number}"), format!("k{number}"));
            secrets.add_code(&code, Access::ReadOnly, now);
            secrets.exchange(&code, &key, now);
        }
        assert_eq!((secrets.access("k0"), secrets.access("k1")), (None, Some(Access::ReadOnly)));
    }
}
