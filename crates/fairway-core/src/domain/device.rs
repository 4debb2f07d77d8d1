//! Paired devices: browsers that keep a key for the page. Only digests of keys and codes are known here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Refusal;
use super::id::DeviceName;
use super::secrets::constant_time_eq;
use super::string_enum::string_enum;
use crate::env::Timestamp;

/// How long a pairing code is valid.
pub const PAIRING_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// After so many wrong typed codes no typed code is valid any more.
pub const MAX_WRONG_CODES: u32 = 5;
/// How long a device stays paired, if nothing else is asked for.
pub const DEFAULT_DEVICE_LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// The longest lifetime of a device: browsers keep no cookie longer.
pub const MAX_DEVICE_LIFETIME: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// The time of a device's last request is saved at most once in this interval.
const SEEN_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// How many codes are open at most; the oldest is dropped.
const MAX_PAIRINGS: usize = 8;
/// How many devices there are at most.
pub const MAX_DEVICES: usize = 64;

/// The letters and digits of a typed code: none is easily taken for another one.
const CODE_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The length of a typed code: 40 bits.
const CODE_LENGTH: usize = 8;

/// The refusal of a code that cannot pair a device.
pub fn pairing_refused() -> Refusal {
    Refusal::PairingRefused { minutes: PAIRING_LIFETIME.as_secs() / 60 }
}

string_enum! {
    /// The rights of a device: it acts as the person who started the server, or looks.
    DeviceAccess { Full => "full", ReadOnly => "read_only" }
}

string_enum! {
    /// Where a device reaches the page: on this machine, tunnels included, or at the server's address in the network. Its key is
    /// valid there alone.
    DeviceWay { Local => "local", Network => "network" }
}

/// A paired device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub name: String,
    key: String,
    #[serde(with = "words")]
    pub access: DeviceAccess,
    #[serde(with = "words")]
    pub way: DeviceWay,
    /// The device from which it was paired; `None` for the terminal.
    pub paired_from: Option<String>,
    #[serde(with = "millis")]
    pub paired_at: Timestamp,
    #[serde(with = "millis")]
    pub expires_at: Timestamp,
    #[serde(with = "millis")]
    pub seen_at: Timestamp,
}

/// A code that pairs one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The digest of the code in the link.
    pub link: String,
    /// The digest of the typed code; `None` after too many wrong ones.
    pub code: Option<String>,
    #[serde(with = "words")]
    pub access: DeviceAccess,
    /// The device's name; `None` when the device names itself.
    pub name: Option<String>,
    /// The device from which the code was made.
    pub paired_from: Option<String>,
    #[serde(with = "millis")]
    pub expires_at: Timestamp,
    #[serde(with = "millis")]
    pub valid_until: Timestamp,
    /// How many wrong codes were typed since it was made.
    #[serde(default)]
    pub wrong_codes: u32,
}

/// The browser that redeems a code.
#[derive(Debug)]
pub struct NewDevice<'a> {
    /// The name that the person wrote.
    pub name: Option<&'a DeviceName>,
    /// A word for the kind of browser, which names a device without another name.
    pub kind: &'a str,
    /// The digest of its new key.
    pub key: String,
    pub way: DeviceWay,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedDevices {
    /// The name of the page's host on this machine. The keys of devices are for this host, so it stays as long as there are
    /// devices.
    pub host: Option<String>,
    pub devices: Vec<Device>,
    pub pairings: Vec<Pairing>,
}

impl PairedDevices {
    /// Removes expired devices and codes, and with the last of them the name of the page's host. Returns whether it removed any.
    pub fn prune(&mut self, now: Timestamp) -> bool {
        let before = (self.devices.len(), self.pairings.len());
        self.devices.retain(|device| device.expires_at > now);
        self.pairings.retain(|pairing| pairing.valid_until > now);
        if self.is_empty() {
            self.host = None;
        }
        before != (self.devices.len(), self.pairings.len())
    }

    /// Whether there is neither a device nor an open code.
    pub const fn is_empty(&self) -> bool {
        self.devices.is_empty() && self.pairings.is_empty()
    }

    /// Adds a pairing code; beyond 8 open codes the oldest is dropped. A device that is paired by another device's code expires
    /// no later than that device.
    pub fn add_pairing(&mut self, mut pairing: Pairing, now: Timestamp) {
        self.prune(now);
        let parent = pairing.paired_from.as_deref().and_then(|name| self.find(name));
        if let Some(parent) = parent {
            pairing.expires_at = pairing.expires_at.min(parent.expires_at);
        }
        if self.pairings.len() >= MAX_PAIRINGS {
            self.pairings.remove(0);
        }
        self.pairings.push(pairing);
    }

    /// Exchanges a code, which came from a link or was typed, for a device. Each code works once. A wrong code counts as a failed
    /// attempt against every open typed code. Returns `None` when the code is unknown, used, expired or was tried too often, and
    /// when there are too many devices.
    pub fn redeem(&mut self, code: &str, new: NewDevice<'_>, now: Timestamp) -> Option<Device> {
        self.prune(now);
        let (link, typed) = (digest(code.trim()), normalized(code).map(|code| digest(&code)));
        let fits = |pairing: &Pairing| {
            let is_typed =
                pairing.code.as_ref().zip(typed.as_ref()).is_some_and(|(known, given)| is_same(known, given));
            is_same(&pairing.link, &link) | is_typed
        };
        let Some(at) = self.pairings.iter().position(fits) else {
            self.count_wrong_code();
            return None;
        };
        let pairing = self.pairings.remove(at);
        if self.devices.len() >= MAX_DEVICES {
            return None;
        }
        let wanted = new.name.map(DeviceName::as_str).or(pairing.name.as_deref()).unwrap_or(new.kind);
        let device = Device {
            name: self.free_name(wanted),
            key: new.key,
            access: pairing.access,
            way: new.way,
            paired_from: pairing.paired_from,
            paired_at: now,
            expires_at: pairing.expires_at,
            seen_at: now,
        };
        self.devices.push(device.clone());
        Some(device)
    }

    fn count_wrong_code(&mut self) {
        for pairing in self.pairings.iter_mut().filter(|pairing| pairing.code.is_some()) {
            pairing.wrong_codes += 1;
            if pairing.wrong_codes >= MAX_WRONG_CODES {
                pairing.code = None;
            }
        }
    }

    /// Finds a device by the digest of its key. Returns `None` when there is none, when it was paired for another [`DeviceWay`],
    /// and when it has expired.
    pub fn of_key(&self, key: &str, way: DeviceWay, now: Timestamp) -> Option<&Device> {
        let known = self.devices.iter().filter(|device| device.way == way && device.expires_at > now);
        known.fold(None, |found, device| if is_same(&device.key, key) { Some(device) } else { found })
    }

    pub fn find(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// Removes a device, the devices that were paired from it, and their open codes. Returns the names of the removed devices,
    /// beginning with this one; the list is empty when the device is unknown.
    pub fn revoke(&mut self, name: &str) -> Vec<String> {
        let mut gone: Vec<String> = self.find(name).map(|device| device.name.clone()).into_iter().collect();
        let mut at = 0;
        while at < gone.len() {
            let of_it = self.devices.iter().filter(|device| device.paired_from.as_ref() == gone.get(at));
            let of_it: Vec<String> = of_it.map(|device| device.name.clone()).collect();
            gone.extend(of_it);
            at += 1;
        }
        self.devices.retain(|device| !gone.contains(&device.name));
        self.pairings.retain(|pairing| pairing.paired_from.as_ref().is_none_or(|from| !gone.contains(from)));
        gone
    }

    /// Records the time of a device's request, unless a recent one is recorded already. Returns whether it changed the device, so
    /// that the caller must save it.
    pub fn see(&mut self, name: &str, now: Timestamp) -> bool {
        let device = self.devices.iter_mut().find(|device| device.name == name && device.is_seen_late(now));
        device.map(|device| device.seen_at = now).is_some()
    }

    /// `wanted`, with a number appended when another device has that name.
    fn free_name(&self, wanted: &str) -> String {
        let is_free = |name: &str| self.find(name).is_none();
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
    }
}

impl Device {
    /// Whether the recorded time of the device's last request is so old that a new request replaces it.
    pub fn is_seen_late(&self, now: Timestamp) -> bool {
        now.since(self.seen_at) >= SEEN_INTERVAL
    }
}

/// The SHA-256 digest of a key or code, which is stored in its place.
pub fn digest(secret: &str) -> String {
    crate::os::digest::sha256_hex(secret.as_bytes())
}

fn is_same(known: &str, given: &str) -> bool {
    constant_time_eq(known.as_bytes(), given.as_bytes())
}

/// Makes a typed code from random bytes, one character for each byte.
pub fn typed_code(random: [u8; CODE_LENGTH]) -> String {
    random
        .iter()
        .filter_map(|byte| CODE_ALPHABET.get(usize::from(byte % 32)))
        .map(|letter| char::from(*letter))
        .collect()
}

/// Formats a typed code for people: `K7PX-3M9Q`.
pub fn shown_code(code: &str) -> String {
    code.split_at_checked(CODE_LENGTH / 2).map_or_else(|| code.to_owned(), |(left, right)| format!("{left}-{right}"))
}

/// Converts a typed code to the spelling whose digest is stored: upper case, without blanks and hyphens, `O` as `0`, `I` and `L`
/// as `1`. Returns `None` when the text cannot be such a code.
pub fn normalized(code: &str) -> Option<String> {
    let letters = code.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    let code: String = letters
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect();
    let is_code = code.len() == CODE_LENGTH && code.bytes().all(|letter| CODE_ALPHABET.contains(&letter));
    is_code.then_some(code)
}

/// The kind of browser that a `User-Agent` header tells, as a word that can be a device's name; `device` when it tells none.
pub fn kind_of(user_agent: &str) -> &'static str {
    const KINDS: [(&str, &str); 10] = [
        ("iPhone", "iphone"),
        ("iPad", "ipad"),
        ("Android", "android"),
        ("Firefox", "firefox"),
        ("Edg/", "edge"),
        ("Chrome", "chrome"),
        ("Safari", "safari"),
        ("curl", "curl"),
        ("Macintosh", "mac"),
        ("Linux", "linux"),
    ];
    KINDS.iter().find(|(word, _)| user_agent.contains(word)).map_or("device", |(_, kind)| kind)
}

mod words {
    //! Serializes a word of a closed set as text.

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{DeviceAccess, DeviceWay};

    pub trait Word: Copy {
        fn word(self) -> &'static str;
        fn of(word: &str) -> Option<Self>;
    }

    impl Word for DeviceAccess {
        fn word(self) -> &'static str {
            self.as_str()
        }
        fn of(word: &str) -> Option<Self> {
            Self::parse(word)
        }
    }

    impl Word for DeviceWay {
        fn word(self) -> &'static str {
            self.as_str()
        }
        fn of(word: &str) -> Option<Self> {
            Self::parse(word)
        }
    }

    pub fn serialize<W: Word, S: Serializer>(word: &W, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(word.word())
    }

    pub fn deserialize<'de, W: Word, D: Deserializer<'de>>(from: D) -> Result<W, D::Error> {
        let text = String::deserialize(from)?;
        W::of(&text).ok_or_else(|| Error::custom("unknown word"))
    }
}

pub(super) mod millis {
    //! Serializes a moment as milliseconds since 1970.

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::env::Timestamp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.millis())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn now() -> Timestamp {
        Timestamp::from_millis(1_000_000_000_000)
    }

    fn pairing(link: &str, code: &str, from: Option<&str>) -> Pairing {
        Pairing {
            link: digest(link),
            code: Some(digest(code)),
            access: DeviceAccess::ReadOnly,
            name: Some("phone".into()),
            paired_from: from.map(str::to_owned),
            expires_at: now().plus(DAY),
            valid_until: now().plus(PAIRING_LIFETIME),
            wrong_codes: 0,
        }
    }

    fn new(key: &str) -> NewDevice<'static> {
        NewDevice { name: None, kind: "firefox", key: digest(key), way: DeviceWay::Network }
    }

    #[test]
    fn code_pairs_one_device_by_its_link_or_typed_and_not_after_its_time() {
        let mut all = PairedDevices::default();
        all.add_pairing(pairing("link-1", "K7PX3M9Q", None), now());
        all.add_pairing(pairing("link-2", "AAAABBBB", None), now());
        let typed = all.redeem(" k7px-3m9q ", new("key-1"), now()).unwrap();
        assert_eq!((typed.name.as_str(), typed.access), ("phone", DeviceAccess::ReadOnly));
        assert_eq!(all.redeem("link-1", new("key-2"), now()), None, "both codes of a pairing are used up together");
        let late = now().plus(PAIRING_LIFETIME);
        assert_eq!(all.clone().redeem("link-2", new("key-2"), late), None);
        let name = DeviceName::parse("tablet").unwrap();
        let named = NewDevice { name: Some(&name), ..new("key-2") };
        assert_eq!(all.redeem("link-2", named, now()).unwrap().name, "tablet");
        all.add_pairing(pairing("link-3", "CCCCDDDD", None), now());
        assert_eq!(all.redeem("link-3", new("key-3"), now()).unwrap().name, "phone-2");
        assert!(all.pairings.is_empty());
    }

    #[test]
    fn wrong_codes_end_the_typed_ones_and_leave_the_link() {
        let mut all = PairedDevices::default();
        all.add_pairing(pairing("link-1", "K7PX3M9Q", None), now());
        for _ in 0..MAX_WRONG_CODES - 1 {
            assert_eq!(all.redeem("K7PX3M9R", new("key"), now()), None);
        }
        assert!(all.clone().redeem("K7PX3M9Q", new("key"), now()).is_some());
        assert_eq!(all.redeem("", new("key"), now()), None);
        assert_eq!(all.redeem("K7PX3M9Q", new("key"), now()), None);
        assert!(all.redeem("link-1", new("key"), now()).is_some());
    }

    #[test]
    fn key_is_valid_by_its_way_until_its_end() {
        let mut all = PairedDevices::default();
        all.add_pairing(pairing("link-1", "K7PX3M9Q", None), now());
        let device = all.redeem("link-1", new("key"), now()).unwrap();
        let of_key = |key: &str, way, at| all.of_key(&digest(key), way, at).is_some();
        assert!(of_key("key", DeviceWay::Network, now()));
        assert!(!of_key("key", DeviceWay::Local, now()));
        assert!(!of_key("kex", DeviceWay::Network, now()) && !of_key("", DeviceWay::Network, now()));
        assert!(of_key("key", DeviceWay::Network, now().plus(DAY).minus(Duration::from_millis(1))));
        assert!(!of_key("key", DeviceWay::Network, device.expires_at));
        let text = serde_json::to_string(&all).unwrap();
        assert!(!text.contains("\"key\":\"key\"") && !text.contains("link-1"), "{text}");
        assert_eq!(serde_json::from_str::<PairedDevices>(&text).unwrap(), all);
        all.host = Some("fairway-1".into());
        assert!(all.prune(now().plus(DAY)));
        assert_eq!(all, PairedDevices::default(), "without devices the host's name is free");
    }

    #[test]
    fn device_ends_with_the_one_that_paired_it() {
        let mut all = PairedDevices::default();
        for (at, from) in [(0, None), (1, Some("phone")), (2, Some("phone-2")), (3, None)] {
            let code = Pairing { expires_at: now().plus(DAY * (10 - at)), ..pairing(&format!("l{at}"), "-", from) };
            let later = now().plus(DAY * 365);
            all.add_pairing(Pairing { expires_at: if at == 1 { later } else { code.expires_at }, ..code }, now());
            all.redeem(&format!("l{at}"), new(&format!("k{at}")), now()).unwrap();
        }
        assert_eq!(all.find("phone-2").unwrap().expires_at, all.find("phone").unwrap().expires_at);
        all.add_pairing(pairing("open", "K7PX3M9Q", Some("phone-3")), now());
        assert_eq!(all.revoke("tablet"), Vec::<String>::new());
        assert_eq!(all.revoke("phone"), ["phone", "phone-2", "phone-3"]);
        assert_eq!(all.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["phone-4"]);
        assert!(all.pairings.is_empty(), "an open code of a revoked device pairs another one");
    }

    #[test]
    fn last_request_is_kept_roughly() {
        let mut all = PairedDevices::default();
        all.add_pairing(pairing("link-1", "K7PX3M9Q", None), now());
        all.redeem("link-1", new("key"), now()).unwrap();
        assert!(!all.see("phone", now().plus(SEEN_INTERVAL / 2)) && !all.see("other", now().plus(DAY)));
        assert!(all.see("phone", now().plus(SEEN_INTERVAL)));
        assert_eq!(all.find("phone").unwrap().seen_at, now().plus(SEEN_INTERVAL));
    }

    #[test]
    fn typed_code_is_read_in_any_spelling() {
        let code = typed_code([0, 1, 31, 32, 255, 7, 9, 10]);
        assert_eq!((code.as_str(), shown_code(&code).as_str()), ("01Z0Z79A", "01Z0-Z79A"));
        for text in ["01Z0-Z79A", "oiz0 z79a", " OLZOz79A"] {
            assert_eq!(normalized(text).as_ref(), Some(&code), "{text}");
        }
        for text in ["", "01Z0-Z79", "01Z0-Z79AA", "01Z0-Z79U", "0123456é"] {
            assert_eq!(normalized(text), None, "{text}");
        }
    }

    #[test]
    fn kind_of_a_browser_is_a_name() {
        for (agent, kind) in [
            ("Mozilla/5.0 (Linux; Android 15) Chrome/148.0 Mobile Safari/537.36", "android"),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "firefox"),
            ("<script>", "device"),
        ] {
            assert_eq!(kind_of(agent), kind);
            assert!(DeviceName::parse(kind).is_ok());
        }
    }
}
