//! The inner end of the proxy. Programs in the sandbox expect a proxy on a loopback port, and the proxy outside has a socket at
//! a path.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use super::proxy;
use fairway_core::config::SandboxSettings;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::{foreground, signals};

/// The variables that name a proxy. Programs read one spelling or the other.
const NAMES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// The variables that name the hosts to reach without the proxy.
const EXCEPT: [&str; 2] = ["NO_PROXY", "no_proxy"];
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// The variable that makes Node.js obey the others.
const NODE: &str = "NODE_USE_ENV_PROXY";
/// The largest number of connections at a time. The proxy outside has its own limit.
const MAX_CONNECTIONS: usize = 1024;

/// The variables that name the loopback addresses, which programs inside reach without the proxy. An address that the
/// configuration opens is left out, because the proxy connects it to the machine outside.
pub fn exceptions(settings: &SandboxSettings) -> Vec<(&'static str, String)> {
    let is_own = |name: &&str| !settings.hosts.iter().any(|open| open.is_named(name));
    let own: Vec<&str> = LOOPBACK.into_iter().filter(is_own).collect();
    EXCEPT.into_iter().map(|name| (name, own.join(","))).collect()
}

/// Runs a program in the foreground until it ends. Its environment names a loopback port as the proxy, from which a thread
/// forwards connections to the proxy outside.
pub fn run(words: &[OsString], vars: &BTreeMap<OsString, OsString>, cwd: &Path) -> io::Result<ExitReason> {
    let (name, args) = words.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    // Signals are for the thread that passes them on.
    signals::defer_ends()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = format!("http://{}", listener.local_addr()?);
    listener.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let forward = move || LocalSet::new().block_on(&runtime, forward(listener));
    thread::Builder::new().name("forward".into()).spawn(forward)?;
    let mut env = vars.clone();
    env.extend(NAMES.iter().map(|name| ((*name).into(), address.clone().into())));
    env.insert(NODE.into(), "1".into());
    foreground::run(Path::new(name), args, &env, cwd)
}

async fn forward(listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(one) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((client, _)) = listener.accept().await else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        spawn_local(async move {
            let _one = one;
            let _ = pass(client).await;
        });
    }
}

async fn pass(mut client: TcpStream) -> io::Result<()> {
    let mut proxy = UnixStream::connect(proxy::INSIDE).await?;
    copy_bidirectional(&mut client, &mut proxy).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_core::domain::rules::proxy_hosts::OpenHost;

    #[test]
    fn loopback_is_the_sandboxs_own_unless_it_is_open() {
        let settings = |hosts: &[&str]| SandboxSettings {
            hosts: hosts.iter().map(|text| OpenHost::parse(text).unwrap()).collect(),
            ..SandboxSettings::default()
        };
        let of = |hosts: &[&str]| exceptions(&settings(hosts))[0].1.clone();
        assert_eq!(of(&["a.example:443"]), "localhost,127.0.0.1,::1");
        assert_eq!(of(&["127.0.0.1:80", "[::1]:80"]), "localhost");
    }
}
