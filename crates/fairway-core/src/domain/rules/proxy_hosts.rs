//! The hosts that the proxy of a sandbox lets through. Names are compared as bytes, so a spelling that two programs could take
//! for different hosts is refused first.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::domain::sandbox::SandboxNetwork;

/// The longest name with its port, in bytes.
const MAX_BYTES: usize = 260;
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;
/// The largest number of hosts that a text lists.
const MAX_SHOWN: usize = 12;
/// The prefix of a pattern for every name below another one.
const BELOW: &str = "*.";

/// A requested host: a name in lower case, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    pub host: Host,
    pub port: u16,
}

/// A host that is open, or every name below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenHost {
    /// Whether the names below are meant, and not the name.
    is_below: bool,
    host: HostPort,
}

/// A clause that says what programs inside reach by this network, where these hosts are open to its proxy.
pub fn reach(network: SandboxNetwork, open: &[OpenHost]) -> String {
    match network {
        SandboxNetwork::None => return "there is no network".to_owned(),
        SandboxNetwork::Open => return "the network is open".to_owned(),
        SandboxNetwork::Proxy if open.is_empty() => return "the network reaches no host".to_owned(),
        SandboxNetwork::Proxy => {}
    }
    let shown: Vec<String> = open.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
    let more = match open.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more hosts"),
    };
    format!("the network reaches {}{more} alone, by the proxy in HTTPS_PROXY", shown.join(", "))
}

/// Why a host is not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRefusal {
    /// Its text does not name exactly one host.
    Unclear(&'static str),
    NotListed,
    /// It is an address of this machine or its network, or leads to one.
    Internal(IpAddr),
}

impl fmt::Display for HostRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclear(why) => f.write_str(why),
            Self::NotListed => f.write_str("it is not in sandbox.hosts"),
            Self::Internal(address) => {
                write!(f, "{address} is an address of this machine or its network, and not in sandbox.hosts")
            }
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host {
            Host::Name(name) => write!(f, "{name}:{port}"),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}:{port}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{port}"),
        }
    }
}

impl fmt::Display for OpenHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_below { BELOW } else { "" }, self.host)
    }
}

impl HostPort {
    /// Parses `host:port`. `port` is the port of a text that names none.
    ///
    /// # Errors
    /// A reason when the text names no host, or when two programs could read it differently.
    pub fn parse(text: &[u8], port: Option<u16>) -> Result<Self, &'static str> {
        if text.len() > MAX_BYTES {
            return Err("the name is too long");
        }
        if text.iter().any(u8::is_ascii_control) {
            return Err("the name has a control character");
        }
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"@%/\\?#\"'<>`{|}^".contains(byte);
        if !text.iter().all(is_plain) {
            return Err("the name has a character that no name of a host has");
        }
        let text = std::str::from_utf8(text).map_err(|_| "the name is not ASCII")?;
        let (name, given) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or("the address has no end")?,
            None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
        };
        let port = match given.strip_prefix(':') {
            Some(digits) => parse_port(digits)?,
            None if given.is_empty() => port.ok_or("the port is missing")?,
            None => return Err("the port is missing"),
        };
        let host = if text.starts_with('[') {
            let address: Ipv6Addr = name.parse().map_err(|_| "it is no IPv6 address")?;
            if address.to_ipv4_mapped().is_some() {
                return Err("it is an IPv4 address in the notation of IPv6");
            }
            Host::Address(address.into())
        } else {
            parse_name(name)?
        };
        Ok(Self { host, port })
    }
}

fn parse_port(digits: &str) -> Result<u16, &'static str> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_number).ok_or("the port is no number from 1 to 65535")
}

fn parse_name(text: &str) -> Result<Host, &'static str> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    if text.ends_with('.') {
        return Err("the name ends with a dot");
    }
    let name = text.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty()
            && label.len() <= MAX_LABEL_BYTES
            && label.bytes().all(is_letter)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > MAX_NAME_BYTES || !name.split('.').all(is_label) {
        return Err("it is no name of a host");
    }
    // The C library takes a name that ends with a number for an address.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_hex = last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_hex || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("it is an address in another notation than four numbers");
    }
    Ok(Host::Name(name))
}

impl OpenHost {
    /// Parses `name:port`, `*.name:port` or `address:port`. The error is a sentence about the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shown = || text.escape_debug();
        let wrong = |why: &str| format!("'{}' is no host with a port, such as api.model.example:443: {why}", shown());
        let below = text.strip_prefix(BELOW);
        let host = HostPort::parse(below.unwrap_or(text).as_bytes(), None).map_err(wrong)?;
        let is_narrow = || matches!(&host.host, Host::Name(name) if name.contains('.'));
        if below.is_some() && !is_narrow() {
            return Err(wrong("behind *. a name with a dot is needed"));
        }
        Ok(Self { is_below: below.is_some(), host })
    }

    fn is_for(&self, asked: &HostPort) -> bool {
        if self.host.port != asked.port {
            return false;
        }
        match (&self.host.host, &asked.host) {
            (Host::Name(open), Host::Name(name)) if self.is_below => {
                name.strip_suffix(open.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (open, asked) => open == asked,
        }
    }

    /// Whether this entry names exactly this host or address, whatever its port is. An entry with `*.` never does.
    pub fn is_named(&self, host: &str) -> bool {
        match &self.host.host {
            Host::Name(name) => !self.is_below && name == host,
            Host::Address(address) => address.to_string() == host,
        }
    }
}

/// Checks that the requested host is in the list of open hosts, by its name or address.
pub fn check_name(open: &[OpenHost], asked: &HostPort) -> Result<(), HostRefusal> {
    match asked.host {
        _ if open.iter().any(|one| one.is_for(asked)) => Ok(()),
        // A person who may open it must see what it is.
        Host::Address(address) if is_internal(address) => Err(HostRefusal::Internal(address)),
        _ => Err(HostRefusal::NotListed),
    }
}

/// Selects the addresses of a host that may be connected to: public ones, and internal ones that the list of open hosts names.
///
/// # Errors
/// [`HostRefusal::Internal`] with the first address, when no address may be connected to.
pub fn check_addresses(open: &[OpenHost], found: &[IpAddr], port: u16) -> Result<Vec<IpAddr>, HostRefusal> {
    let is_named = |address: IpAddr| check_name(open, &HostPort { host: Host::Address(address), port }).is_ok();
    let all: Vec<IpAddr> = found.iter().map(IpAddr::to_canonical).collect();
    let good: Vec<IpAddr> = all.iter().copied().filter(|one| !is_internal(*one) || is_named(*one)).collect();
    match (good.is_empty(), all.first()) {
        (true, Some(first)) => Err(HostRefusal::Internal(*first)),
        _ => Ok(good),
    }
}

/// Whether an address belongs to this machine or its network, or is reserved, so that it is not the address of a public host.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_internal_v4(address),
        IpAddr::V6(address) => is_internal_v6(address),
    }
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        // This network, multicast, and what is reserved.
        || a == 0
        || a >= 224
        // Shared by customers of a provider; assignments of protocols; relays; measurements.
        || (a == 100 && b & 0xC0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xFE == 18)
}

fn is_internal_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, .., high, low] = address.segments();
    let v4 = |high: u16, low: u16| is_internal_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    // Addresses that stand for one of IPv4.
    if address.segments().starts_with(&[0x64, 0xFF9B, 0, 0, 0, 0]) {
        return v4(high, low);
    }
    if first == 0x2002 {
        return v4(second, third);
    }
    let is_global = first & 0xE000 == 0x2000;
    // Assignments of protocols, and documentation.
    !is_global || first == 0x2001 && (second < 0x200 || second == 0xDB8) || first == 0x3FFF && second < 0x1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(texts: &[&str]) -> Vec<OpenHost> {
        texts.iter().map(|text| OpenHost::parse(text).unwrap()).collect()
    }

    fn judge(open: &[OpenHost], asked: &[u8]) -> Result<(), HostRefusal> {
        check_name(open, &HostPort::parse(asked, None).map_err(HostRefusal::Unclear)?)
    }

    #[test]
    fn listed_names_are_open_at_their_port_and_no_other_is() {
        let list = open(&["api.model.example:443", "*.packages.example:443", "192.0.2.7:80", "[2001:db8::7]:80"]);
        for good in [
            "api.model.example:443", "API.Model.Example:443", "a.packages.example:443", "a.b.packages.example:443",
            "192.0.2.7:80", "[2001:db8::7]:80", "[2001:DB8:0::7]:80",
        ] {
            assert_eq!(judge(&list, good.as_bytes()), Ok(()), "{good}");
        }
        for other in [
            "api.model.example:80",
            "model.example:443",
            "xapi.model.example:443",
            "api.model.example.evil.example:443",
            "packages.example:443",
            "evilpackages.example:443",
            "a.packages.example:8443",
            "1.2.3.4:80",
            "[2606:4700::8]:80",
            "localhost:443",
        ] {
            assert_eq!(judge(&list, other.as_bytes()), Err(HostRefusal::NotListed), "{other}");
        }
        for internal in ["169.254.169.254:80", "127.0.0.1:443", "[::1]:80"] {
            assert!(matches!(judge(&list, internal.as_bytes()), Err(HostRefusal::Internal(_))), "{internal}");
        }
    }

    /// The tricks that have led filters of names past their list.
    #[test]
    fn text_that_two_readers_read_differently_is_refused() {
        let list = open(&["*.packages.example:443", "127.0.0.1:443"]);
        let unclear: &[&[u8]] = &[
            b"evil.example\0.packages.example:443",
            b"evil.example\n.packages.example:443",
            b"evil.example\t.packages.example:443",
            b"evil.example .packages.example:443",
            b"a.packages.example.:443",
            b"127.0.0.1.:443",
            b"2130706433:443",
            b"0x7f000001:443",
            b"0x7f.1:443",
            b"0177.0.0.1:443",
            b"127.1:443",
            b"127.0.0.01:443",
            b"1.2.3.4.5:443",
            b"a.0x:443",
            b"[::ffff:127.0.0.1]:443",
            b"[::1%lo]:443",
            b"::1:443",
            b"a.packages.example@evil.example:443",
            b"evil.example#.packages.example:443",
            b"evil.example/.packages.example:443",
            b"evil.example\\.packages.example:443",
            b"%65vil.packages.example:443",
            b"a..packages.example:443",
            b".packages.example:443",
            b"-a.packages.example:443",
            b"\xc3\xa9.packages.example:443",
            "a\u{3002}packages.example:443".as_bytes(),
            b"a.packages.example:443:80",
            b"a.packages.example:0443",
            b"a.packages.example:+443",
            b"a.packages.example:0",
            b"a.packages.example:65536",
            b"a.packages.example:",
            b"a.packages.example",
            b":443",
            b"",
        ];
        for text in unclear {
            let said = judge(&list, text);
            assert!(matches!(said, Err(HostRefusal::Unclear(_))), "{}: {said:?}", String::from_utf8_lossy(text));
        }
        let long = format!("{}.packages.example:443", "a.".repeat(200));
        assert!(matches!(judge(&list, long.as_bytes()), Err(HostRefusal::Unclear(_))));
    }

    #[test]
    fn internal_addresses_are_reached_only_when_they_are_named() {
        let list = open(&["intern.example:443", "10.0.0.5:443", "[fd00::5]:443"]);
        let judge = |texts: &[&str]| {
            let found: Vec<IpAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
            check_addresses(&list, &found, 443).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        for internal in [
            "127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "10.0.0.6", "100.64.0.1", "169.254.169.254", "172.31.0.1",
            "192.0.0.8", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
            "::ffff:127.0.0.1", "::ffff:10.0.0.6", "::127.0.0.1", "64:ff9b::10.0.0.6", "64:ff9b:1::1", "fc00::1",
            "fd00::6", "fe80::1", "fec0::1", "ff02::1", "2002:7f00:1::1", "2001::1", "2001:db8::1", "3fff::1",
            "100::1",
        ] {
            let first: IpAddr = internal.parse().unwrap();
            assert_eq!(judge(&[internal]), Err(HostRefusal::Internal(first.to_canonical())), "{internal}");
        }
        for global in ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1", "64:ff9b::1.1.1.1", "2001:4860::8"] {
            let shown = global.parse::<IpAddr>().unwrap().to_string();
            assert_eq!(judge(&[global]), Ok(vec![shown]), "{global}");
        }
        assert_eq!(judge(&["10.0.0.5", "::ffff:10.0.0.5", "fd00::5"]).unwrap(), ["10.0.0.5", "10.0.0.5", "fd00::5"]);
        // Of several the good ones are taken: each is connected to by its number.
        assert_eq!(judge(&["127.0.0.1", "1.1.1.1"]).unwrap(), ["1.1.1.1"]);
        assert_eq!(judge(&[]).unwrap(), Vec::<String>::new());
        assert!(check_addresses(&list, &["10.0.0.5".parse().unwrap()], 80).is_err());
    }

    #[test]
    fn list_is_of_hosts_with_ports() {
        for text in ["a.example:443", "*.a.example:443", "127.0.0.1:80", "[::1]:80", "localhost:80"] {
            assert_eq!(OpenHost::parse(text).unwrap().to_string(), text);
        }
        for bad in
            ["a.example", "*:443", "*.com:443", "*.127.0.0.1:443", "a.*.example:443", "https://a.example:443", "*"]
        {
            assert!(OpenHost::parse(bad).is_err(), "{bad}");
        }
    }
}
