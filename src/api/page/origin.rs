//! The page's origin, and which requests are for it. On 127.0.0.1 the page has a host name of its own, a random one below
//! `localhost`, which every browser resolves to this machine: browsers send cookies to every port of a host, so that at
//! `localhost` any development server would get the page's key.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result};
use axum::http::{HeaderMap, header};

use super::access::{Access, Secrets};
use super::device_keys::{DeviceKey, DeviceKeys};
use super::shared_board::Feed;
use crate::api::auth::single_header;
use crate::api::live_project::AppFactory;
use fairway_actions::sessions::launch::provider_hooks::ProviderHooks;
use fairway_core::api_client::server_files::ShownPage;
use fairway_core::domain::device::DeviceWay;
use fairway_core::os::{network, random, user};

/// The parts of the host name on 127.0.0.1, around its random digits.
const HOST_PREFIX: &str = "fairway-";
const HOST_SUFFIX: &str = ".localhost";
const HOST_DIGITS: usize = 8;

thread_local! {
    static SITE: RefCell<Option<Arc<Site>>> = const { RefCell::new(None) };
}

/// Facts about the providers, from the layer above.
#[derive(Debug, Clone)]
pub struct PageProviders {
    /// The labels of the providers whose agents call hooks.
    pub labels: Vec<&'static str>,
    /// The providers' hooks.
    pub hooks: &'static dyn ProviderHooks,
}

#[derive(Debug)]
pub(in crate::api) struct Site {
    name: String,
    port: u16,
    /// `None` without an address in the network.
    network_origin: Option<String>,
    /// Where a proxy on this machine shows the page.
    proxied: Vec<String>,
    /// The fingerprint of the certificate for the network. `None` without HTTPS.
    pub(super) fingerprint: Option<String>,
    pub(super) devices: Arc<DeviceKeys>,
    secrets: Mutex<Secrets>,
    pub(super) feed: Arc<Feed>,
    /// The hooks with which sessions are launched again.
    pub(super) hooks: &'static dyn ProviderHooks,
}

/// The address by which a request reached the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::api) struct PageAddress {
    /// The page's origin, as the browser must name it.
    pub(super) origin: String,
    pub(super) way: DeviceWay,
    /// Whether a proxy on this machine, of whatever user, brings the requests.
    is_proxied: bool,
    /// The client's and the server's end of the connection.
    ends: (SocketAddr, SocketAddr),
}

/// The rights of a browser. `device` is `None` for a key that ends with the server.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) access: Access,
    pub(super) device: Option<DeviceKey>,
}

/// Where the page can be reached.
#[derive(Debug, Clone)]
pub(in crate::api) struct SiteAddresses {
    pub(in crate::api) port: u16,
    /// The address in the network, if the page is served there.
    pub(in crate::api) listen: Option<SocketAddr>,
    /// The fingerprint of the certificate for the network. `None` without HTTPS.
    pub(in crate::api) fingerprint: Option<String>,
    /// Where a proxy on this machine shows the page, such as `https://example.org/board`.
    pub(in crate::api) proxied: Vec<String>,
}

impl Site {
    /// Creates the page's [`Site`], and keeps it for the current thread. `factory` opens the project as the person for whom
    /// the page acts. A server inside a session (`is_inside`) accepts no device keys, because they are the person's.
    pub(in crate::api) fn open(
        addresses: &SiteAddresses,
        factory: AppFactory,
        providers: &PageProviders,
        is_inside: bool,
    ) -> Result<Arc<Self>> {
        let (file, tokens, clock) = factory.devices();
        let devices = Arc::new(DeviceKeys::new(file, tokens, clock, !is_inside));
        let random = random::hex().context("cannot generate the page's host name")?;
        let new = || format!("{HOST_PREFIX}{}{HOST_SUFFIX}", random.get(..HOST_DIGITS).unwrap_or_default());
        let name = devices.host().filter(|host| is_host(host)).unwrap_or_else(new);
        let scheme = if addresses.fingerprint.is_some() { "https" } else { "http" };
        let listen = addresses.listen.and_then(reachable);
        let site = Arc::new(Self {
            name,
            port: addresses.port,
            network_origin: listen.map(|at| format!("{scheme}://{at}")).or_else(|| addresses.proxied.first().cloned()),
            proxied: addresses.proxied.clone(),
            fingerprint: addresses.fingerprint.clone(),
            devices,
            secrets: Mutex::default(),
            feed: Feed::new(factory, providers.labels.clone())?,
            hooks: providers.hooks,
        });
        SITE.with(|here| here.replace(Some(Arc::clone(&site))));
        Ok(site)
    }

    /// Watches for revoked devices while the server runs.
    pub(in crate::api) async fn follow_devices(self: Arc<Self>) {
        Arc::clone(&self.devices).follow().await;
    }

    /// Drops the current thread's site, and with it the keys that end with the server.
    pub(in crate::api) fn close() {
        SITE.take();
    }

    fn lock(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn current() -> Option<Arc<Self>> {
        SITE.with(|here| here.borrow().clone())
    }

    /// The page's origin for browsers on this machine.
    pub(in crate::api) fn origin(&self) -> String {
        format!("http://{}:{}", self.name, self.port)
    }

    /// The page's origin for other machines. Returns `None` without an address that they can reach.
    pub(in crate::api) fn network_origin(&self) -> Option<String> {
        self.network_origin.clone()
    }

    pub(in crate::api) fn host(&self) -> &str {
        &self.name
    }

    /// The page's addresses, as the server tells them to other programs of this user.
    pub(in crate::api) fn shown(&self) -> ShownPage {
        ShownPage {
            host: self.name.clone(),
            origin: self.origin(),
            network: self.network_origin(),
            fingerprint: self.fingerprint.clone(),
        }
    }

    /// Makes a URL under `origin` that gives `access` once, to the first browser that opens it.
    pub(in crate::api) fn one_time_url(&self, origin: &str, access: Access) -> Result<String> {
        let code = random::hex().context("cannot generate a code")?;
        self.lock().add_code(&code, access, Instant::now());
        Ok(format!("{origin}/open?code={code}"))
    }

    /// Exchanges a one-time code for a new key. Returns `None` for a code that is not valid. Returns `None` also for a client
    /// on this machine that is another user's program: other users can see the code in the arguments of the program that
    /// opens the browser.
    pub(super) fn exchange(&self, address: &PageAddress, code: &str) -> Result<Option<String>> {
        if address.is_proxied || !address.is_of_this_user() {
            return Ok(None);
        }
        let key = random::hex().context("cannot generate a key")?;
        let access = self.lock().exchange(code, &key, Instant::now());
        Ok(access.map(|_| key))
    }

    /// The name of the cookie for a key that is valid until the server ends. The name contains the port, because browsers
    /// share cookies between ports.
    pub(super) fn cookie_name(address: &PageAddress) -> String {
        format!("fairway-{}", address.ends.1.port())
    }

    /// The name of the cookie with a device's key. It does not contain the port, so that the cookie outlives this server.
    pub(super) fn device_cookie_name(&self) -> String {
        format!("{}-device", self.name.trim_end_matches(HOST_SUFFIX))
    }

    /// The rights that the keys in a request's cookies give. Returns `None` without a valid key. A key that ends with the
    /// server takes precedence over a device's key. A device's key is accepted only from this user's programs: the browser
    /// may have sent it to other users' servers.
    pub(super) fn grant(&self, address: &PageAddress, headers: &HeaderMap) -> Option<Grant> {
        let (ends_with_server, lasting) = (Self::cookie_name(address), self.device_cookie_name());
        let mut known = cookies(headers).filter(|(name, _)| *name == ends_with_server);
        let access = {
            let secrets = self.lock();
            known.find_map(|(_, key)| secrets.access(key))
        };
        if let Some(access) = access {
            return Some(Grant { access, device: None });
        }
        let mut keys = cookies(headers).filter(|(name, _)| *name == lasting);
        let key = keys.find_map(|(_, key)| self.devices.find(key, address.way))?;
        address.is_of_this_user().then_some(Grant { access: key.access, device: Some(key) })
    }

    /// The page's address in a request to a port of 127.0.0.1. Returns `None` when the request is not for the page.
    pub(in crate::api) fn local_address(headers: &HeaderMap, ends: (SocketAddr, SocketAddr)) -> Option<PageAddress> {
        let site = Self::current()?;
        let host = single_header(headers, header::HOST)?;
        if host == format!("{}:{}", site.name, site.port) {
            return Some(PageAddress { origin: site.origin(), way: DeviceWay::Local, is_proxied: false, ends });
        }
        let (scheme, name) = site.proxied.iter().find_map(|url| {
            let (scheme, rest) = url.split_once("://")?;
            rest.split('/').next().filter(|name| host.eq_ignore_ascii_case(name)).map(|name| (scheme, name))
        })?;
        let origin = format!("{scheme}://{name}");
        Some(PageAddress { origin, way: DeviceWay::Network, is_proxied: true, ends })
    }

    /// The page's address in a request from the network. Returns `None` for a wrong `Host`: its port must be the server's,
    /// and its host must be an IP address, because anyone can point a name to this machine.
    pub(in crate::api) fn network_address(
        headers: &HeaderMap,
        ends: (SocketAddr, SocketAddr),
        is_encrypted: bool,
    ) -> Option<PageAddress> {
        let (scheme, usual_port) = if is_encrypted { ("https", 443) } else { ("http", 80) };
        let host = single_header(headers, header::HOST)?;
        let named = match host.parse::<SocketAddr>() {
            Ok(at) => at,
            // The scheme's own port is left out.
            Err(_) => {
                SocketAddr::new(host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok()?, usual_port)
            }
        };
        let origin = format!("{scheme}://{host}");
        (named.port() == ends.1.port()).then_some(PageAddress {
            origin,
            way: DeviceWay::Network,
            is_proxied: false,
            ends,
        })
    }
}

impl PageAddress {
    /// Whether the client is a program of this user. For a client on another machine or behind a proxy this is unknown, and the
    /// answer is true.
    pub(super) fn is_of_this_user(&self) -> bool {
        let (client, server) = self.ends;
        self.is_proxied || !client.ip().is_loopback() || network::uid_of_connection(client, server) == Some(user::uid())
    }

    /// The attributes for cookies that the page sets at this address.
    pub(super) fn cookie_attributes(&self) -> &'static str {
        if self.origin.starts_with("https:") {
            "; Path=/; Secure; HttpOnly; SameSite=Strict"
        } else {
            "; Path=/; HttpOnly; SameSite=Strict"
        }
    }
}

/// The address at which other machines reach a listener; `None` on a machine without a network.
fn reachable(listen: SocketAddr) -> Option<SocketAddr> {
    let ip = if listen.ip().is_unspecified() { network::outgoing_ip(listen.ip())? } else { listen.ip() };
    Some(SocketAddr::new(ip, listen.port()))
}

/// The names and values of a request's cookies.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// Whether a text is a host name as this server makes them.
fn is_host(text: &str) -> bool {
    let digits = text.strip_prefix(HOST_PREFIX).and_then(|rest| rest.strip_suffix(HOST_SUFFIX));
    digits.is_some_and(|digits| digits.len() == HOST_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_of_a_file_is_one_that_a_server_makes() {
        assert!(is_host("fairway-0123abcd.localhost"));
        for text in
            ["fairway-0123abcd.evil.example", "fairway-.localhost", "127.0.0.1", "fairway-0123abc/.localhost", ""]
        {
            assert!(!is_host(text), "{text}");
        }
    }

    #[test]
    fn host_in_the_network_is_an_address_with_the_port() {
        let ends = ("10.0.0.2:999".parse().unwrap(), "10.0.0.1:8443".parse().unwrap());
        let address = |host: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
            Site::network_address(&headers, ends, false).map(|address| address.origin)
        };
        let of_usual_port = ("10.0.0.2:999".parse().unwrap(), "10.0.0.1:443".parse().unwrap());
        let headers = HeaderMap::from_iter([(header::HOST, "10.0.0.1".parse().unwrap())]);
        let origin = |is_encrypted| Site::network_address(&headers, of_usual_port, is_encrypted).map(|one| one.origin);
        assert_eq!((origin(true).as_deref(), origin(false)), (Some("https://10.0.0.1"), None));
        assert_eq!(address("10.0.0.1:8443").as_deref(), Some("http://10.0.0.1:8443"));
        assert_eq!(address("[fe80::1]:8443").as_deref(), Some("http://[fe80::1]:8443"));
        for host in ["10.0.0.1", "10.0.0.1:80", "evil.example:8443", "localhost:8443", "", "10.0.0.1:8443:8443"] {
            assert_eq!(address(host), None, "{host}");
        }
    }
}
