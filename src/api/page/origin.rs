//! The page's origin, and which requests are for it. On 127.0.0.1 the page has a host name of its own, a random one below
//! `localhost`, which every browser resolves to this machine: browsers send cookies to every port of a host, so that at
//! `localhost` any development server would get the page's key.

use std::{
    cell::RefCell,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use anyhow::{Context as _, Result};
use axum::http::{HeaderMap, header};

use super::{
    access::{Access, Secrets},
    shared_board::Feed,
};
use crate::{
    actions::sessions::launch::provider_hooks::ProviderHooks,
    api::{auth::single_header, live_project::AppFactory},
    os::{peer_user, random, user},
};

thread_local! {
    static SITE: RefCell<Option<Arc<Site>>> = const { RefCell::new(None) };
}

/// Facts about the providers for the page, from the layer above.
#[derive(Debug, Clone)]
pub struct PageProviders {
    /// The labels of the providers whose agents call hooks.
    pub labels: Vec<&'static str>,
    /// The providers' hooks.
    pub hooks: &'static dyn ProviderHooks,
}

/// The page of this server.
#[derive(Debug)]
pub(in crate::api) struct Site {
    /// The host name on 127.0.0.1.
    name: String,
    /// The port on 127.0.0.1.
    port: u16,
    /// The address in the network.
    listen: Option<SocketAddr>,
    secrets: Mutex<Secrets>,
    /// The board that all clients share.
    pub(super) feed: Arc<Feed>,
    /// The hooks with which sessions are launched again.
    pub(super) hooks: &'static dyn ProviderHooks,
}

/// The address of the page by which a request came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::api) struct PageAddress {
    /// The page's origin, as the browser must name it.
    pub(super) origin: String,
    /// The two ends of the connection: the client's and the server's.
    ends: (SocketAddr, SocketAddr),
}

impl Site {
    /// Opens the site of the current thread, at a port of 127.0.0.1 and an address in the network. `factory` opens the project as
    /// the person for whom the page acts.
    pub(in crate::api) fn open(
        port: u16,
        listen: Option<SocketAddr>,
        factory: AppFactory,
        providers: &PageProviders,
    ) -> Result<Arc<Self>> {
        let random = random::hex().context("cannot generate the page's host name")?;
        let name = format!("fairway-{}.localhost", random.get(..8).unwrap_or_default());
        let feed = Feed::new(factory, providers.labels.clone())?;
        let site = Arc::new(Self { name, port, listen, secrets: Mutex::default(), feed, hooks: providers.hooks });
        SITE.with(|here| here.replace(Some(Arc::clone(&site))));
        Ok(site)
    }

    /// Forgets the site of the current thread with its keys.
    pub(in crate::api) fn close() {
        SITE.take();
    }

    fn lock(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The site of the current thread.
    pub(super) fn current() -> Option<Arc<Self>> {
        SITE.with(|here| here.borrow().clone())
    }

    /// The page's origin on this machine.
    pub(in crate::api) fn origin(&self) -> String {
        format!("http://{}:{}", self.name, self.port)
    }

    /// The page's origin in the network; `None` without an address there. An unspecified address has none.
    pub(in crate::api) fn network_origin(&self) -> Option<String> {
        self.listen.filter(|at| !at.ip().is_unspecified()).map(|at| format!("http://{at}"))
    }

    /// A URL of `origin` that is valid once and gives this access.
    pub(in crate::api) fn one_time_url(&self, origin: &str, access: Access) -> Result<String> {
        let code = random::hex().context("cannot generate a code")?;
        self.lock().add_code(&code, access, Instant::now());
        Ok(format!("{origin}/open?code={code}"))
    }

    /// Exchanges a code for a key. On this machine the client must be a program of this user: programs of other users see the
    /// arguments of the program that opens the browser.
    pub(super) fn exchange(&self, address: &PageAddress, code: &str) -> Result<Option<String>> {
        let (client, server) = address.ends;
        if client.ip().is_loopback() && peer_user::of_connection(client, server) != Some(user::uid()) {
            return Ok(None);
        }
        let key = random::hex().context("cannot generate a key")?;
        let access = self.lock().exchange(code, &key, Instant::now());
        Ok(access.map(|_| key))
    }

    /// The name of the cookie that has the key. Browsers do not tell ports apart.
    pub(super) fn cookie_name(address: &PageAddress) -> String {
        format!("fairway-{}", address.ends.1.port())
    }

    /// The access of the key in a request's cookie.
    pub(super) fn access(&self, address: &PageAddress, headers: &HeaderMap) -> Option<Access> {
        let name = Self::cookie_name(address);
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let secrets = self.lock();
        pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| secrets.access(value))
    }

    /// The address in a request at the port of 127.0.0.1; `None` for a request that is not for the page.
    pub(in crate::api) fn local_address(headers: &HeaderMap, ends: (SocketAddr, SocketAddr)) -> Option<PageAddress> {
        let site = Self::current()?;
        let is_page = single_header(headers, header::HOST)? == format!("{}:{}", site.name, site.port);
        is_page.then(|| PageAddress { origin: site.origin(), ends })
    }

    /// The address in a request from the network; `None` for a wrong `Host`. It must be an IP address with the port: a name could
    /// be one that its owner points here.
    pub(in crate::api) fn network_address(headers: &HeaderMap, ends: (SocketAddr, SocketAddr)) -> Option<PageAddress> {
        let host = single_header(headers, header::HOST)?;
        let named = match host.parse::<SocketAddr>() {
            Ok(at) => at,
            // The port of HTTP is left out.
            Err(_) => SocketAddr::new(host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok()?, 80),
        };
        (named.port() == ends.1.port()).then(|| PageAddress { origin: format!("http://{host}"), ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_in_the_network_is_an_address_with_the_port() {
        let ends = ("10.0.0.2:999".parse().unwrap(), "10.0.0.1:8443".parse().unwrap());
        let address = |host: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
            Site::network_address(&headers, ends).map(|address| address.origin)
        };
        assert_eq!(address("10.0.0.1:8443").as_deref(), Some("http://10.0.0.1:8443"));
        assert_eq!(address("[fe80::1]:8443").as_deref(), Some("http://[fe80::1]:8443"));
        for host in ["10.0.0.1", "10.0.0.1:80", "evil.example:8443", "localhost:8443", "", "10.0.0.1:8443:8443"] {
            assert_eq!(address(host), None, "{host}");
        }
    }
}
