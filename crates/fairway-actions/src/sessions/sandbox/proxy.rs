//! The connection of a sandbox to the network through a proxy: a filter outside, which connects to the open hosts only. It
//! reads only the head of a request. It cannot read the content of a tunnel.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io, thread};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream, lookup_host};
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::task::{LocalSet, spawn_blocking, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use fairway_core::domain::rules::proxy_hosts::{self, Host, HostPort, HostRefusal, OpenHost};
use fairway_core::domain::rules::proxy_request::{self, MAX_HEAD_BYTES, ProxyRequest};
use fairway_core::os::socket;

/// The name of the socket in the sandbox's directory.
pub const SOCKET: &str = "proxy";
/// The socket's path inside the sandbox.
pub const INSIDE: &str = "/run/fairway-proxy.sock";
/// The largest number of connections at a time.
const MAX_CONNECTIONS: usize = 256;
/// The largest number of lookups and recorded refusals at a time.
const MAX_BLOCKING: usize = 16;
/// The time limits of the head of a request, of looking a name up, and of a connection.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
const LOOKUP_LIMIT: Duration = Duration::from_secs(20);
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// A connection is closed after this time without any data.
const IDLE_LIMIT: Duration = Duration::from_secs(15 * 60);
/// The longest text of a host in a message, in bytes.
const MAX_SHOWN_BYTES: usize = 260;

/// A host that was not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHost {
    /// The host as the program asked for it, without characters that a terminal would interpret.
    pub host: String,
    pub why: HostRefusal,
    /// The configuration entry that would open the host.
    pub entry: Option<String>,
}

/// Decides which hosts are open, and is told of each closed one that a program asks for.
pub trait HostGate: Send + Sync + 'static {
    /// The open hosts by the last reading of the configuration.
    fn open(&self) -> Vec<OpenHost>;
    /// The open hosts; reads the configuration again if it may have changed.
    fn open_anew(&self) -> Vec<OpenHost>;
    /// Called when a program asks for a closed host.
    fn refused(&self, host: &RefusedHost);
}

/// Starts the proxy on a socket in `dir`, in a thread that ends with this process.
pub fn listen(dir: &Path, gate: Arc<dyn HostGate>) -> io::Result<()> {
    let _ = fs::remove_file(dir.join(SOCKET));
    let listener = socket::listen(dir, SOCKET)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().max_blocking_threads(MAX_BLOCKING).build()?;
    let run = move || LocalSet::new().block_on(&runtime, serve(listener, gate));
    thread::Builder::new().name("sandbox proxy".into()).spawn(run).map(drop)
}

async fn serve(listener: std::os::unix::net::UnixListener, gate: Arc<dyn HostGate>) {
    let Ok(listener) = UnixListener::from_std(listener) else { return };
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // As without descriptors.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(one) = Arc::clone(&free).try_acquire_owned() else {
            spawn_local(answer(
                stream,
                "503 Too many connections",
                "too many connections of this sandbox are open".to_owned(),
            ));
            continue;
        };
        let gate = Arc::clone(&gate);
        spawn_local(async move {
            let _one = one;
            let _ = pass(stream, gate).await;
        });
    }
}

/// Handles one connection until it ends.
async fn pass(mut client: UnixStream, gate: Arc<dyn HostGate>) -> io::Result<()> {
    let (head, early) = match timeout(HEAD_LIMIT, read_head(&mut client)).await {
        Ok(Ok(Some(both))) => both,
        Ok(Ok(None)) => {
            return answer(client, "431 Too long", "the head of the request is too long".to_owned()).await;
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => return Ok(()),
    };
    let request = match proxy_request::parse(&head) {
        Ok(request) => request,
        Err(bad) => return answer(client, "400 Bad request", bad.0.to_owned()).await,
    };
    let (authority, port) = request.authority();
    let asked = HostPort::parse(authority, port).map_err(HostRefusal::Unclear);
    let found = match &asked {
        Ok(asked) => find(asked, &gate).await,
        Err(why) => Err(Closed::Refused(why.clone())),
    };
    let addresses = match found {
        Ok(addresses) => addresses,
        Err(Closed::Failed(why)) => return answer(client, "502 Not reached", why).await,
        Err(Closed::Refused(why)) => {
            let refused = refused_host(authority, asked.ok().as_ref(), why);
            let text = format!("{} is closed in this sandbox: {}", refused.host, refused.why);
            let _ = spawn_blocking(move || gate.refused(&refused)).await;
            return answer(client, "403 Closed in this sandbox", text).await;
        }
    };
    let Ok(asked) = asked else { return Ok(()) };
    let mut server = match connect(&addresses).await {
        Ok(server) => server,
        Err(error) => return answer(client, "502 Not reached", format!("{asked}: {error}")).await,
    };
    let begin = request.head(&host_field(&asked));
    if begin.is_empty() {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    }
    server.write_all(&begin).await?;
    server.write_all(&early).await?;
    relay(client, server, matches!(request, ProxyRequest::Plain { .. })).await;
    Ok(())
}

/// The head of the request and the bytes that followed it; `None` when the head is too long.
async fn read_head(client: &mut UnixStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(length) = proxy_request::head_length(&bytes) {
            let early = bytes.split_off(length);
            return Ok(Some((bytes, early)));
        }
        if bytes.len() > MAX_HEAD_BYTES {
            return Ok(None);
        }
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The reason why there is no connection.
enum Closed {
    Refused(HostRefusal),
    Failed(String),
}

/// The addresses of an open host. The proxy looks the name up and connects to the address that it found.
async fn find(asked: &HostPort, gate: &Arc<dyn HostGate>) -> Result<Vec<SocketAddr>, Closed> {
    let found = look_up(asked, &gate.open()).await;
    match found {
        Err(Closed::Refused(_)) => {
            let gate = Arc::clone(gate);
            let open = spawn_blocking(move || gate.open_anew()).await.unwrap_or_default();
            look_up(asked, &open).await
        }
        found => found,
    }
}

async fn look_up(asked: &HostPort, open: &[OpenHost]) -> Result<Vec<SocketAddr>, Closed> {
    proxy_hosts::check_name(open, asked).map_err(Closed::Refused)?;
    let found: Vec<IpAddr> = match &asked.host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, asked.port)]),
        Host::Name(name) => {
            let failed = |why: String| Closed::Failed(format!("{name} cannot be looked up: {why}"));
            let found = timeout(LOOKUP_LIMIT, lookup_host((name.as_str(), asked.port))).await;
            let found = found.map_err(|_| failed("no answer came".to_owned()))?;
            found.map_err(|error| failed(error.to_string()))?.map(|address| address.ip()).collect()
        }
    };
    let good = proxy_hosts::check_addresses(open, &found, asked.port).map_err(Closed::Refused)?;
    Ok(good.into_iter().map(|address| SocketAddr::new(address, asked.port)).collect())
}

async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    for address in addresses {
        match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// The `Host` field of an unencrypted request, as a server expects it.
fn host_field(asked: &HostPort) -> String {
    let text = asked.to_string();
    text.strip_suffix(":80").map_or(text.clone(), str::to_owned)
}

fn refused_host(authority: &[u8], asked: Option<&HostPort>, why: HostRefusal) -> RefusedHost {
    let raw = authority.get(..MAX_SHOWN_BYTES).unwrap_or(authority);
    let shown = || String::from_utf8_lossy(raw).escape_debug().to_string();
    let entry = match (&why, asked) {
        (HostRefusal::NotListed, Some(asked)) => Some(asked.to_string()),
        (HostRefusal::Internal(address), Some(asked)) => {
            Some(HostPort { host: Host::Address(*address), port: asked.port }.to_string())
        }
        _ => None,
    };
    RefusedHost { host: asked.map_or_else(shown, ToString::to_string), why, entry }
}

async fn answer(mut client: UnixStream, status: &str, text: String) -> io::Result<()> {
    let body = format!("{text}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let said = async {
        client.write_all(head.as_bytes()).await?;
        client.write_all(body.as_bytes()).await?;
        client.shutdown().await
    };
    timeout(HEAD_LIMIT, said).await.unwrap_or(Ok(()))
}

/// Passes bytes in both directions until both have ended, or until none have come for too long. The connection ends with the
/// answer to an unencrypted request.
async fn relay(client: UnixStream, server: TcpStream, is_plain: bool) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let last = Rc::new(Cell::new(Instant::now()));
    let answer = async {
        if is_plain {
            copy_head(&mut from_server, &mut to_client, &last).await?;
        }
        copy(&mut from_server, &mut to_client, &last).await
    };
    // A failure in one direction ends the other one, too.
    let both = async { tokio::try_join!(copy(&mut from_client, &mut to_server, &last), answer) };
    let idle = async {
        while last.get().elapsed() < IDLE_LIMIT {
            sleep_until(last.get() + IDLE_LIMIT).await;
        }
    };
    tokio::select! {
        _both = both => {}
        () = idle => {}
    }
}

/// Passes on the heads of an answer, and marks the final one so that the connection closes after it.
async fn copy_head(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    last: &Cell<Instant>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_HEAD_BYTES {
        let Some(length) = proxy_request::head_length(&bytes) else {
            let is_end = from.read_buf(&mut bytes).await? == 0;
            last.set(Instant::now());
            if is_end {
                break;
            }
            continue;
        };
        let rest = bytes.split_off(length);
        let head = std::mem::replace(&mut bytes, rest);
        if !proxy_request::is_interim(&head) {
            to.write_all(&proxy_request::closing(&head)).await?;
            break;
        }
        to.write_all(&head).await?;
    }
    to.write_all(&bytes).await
}

async fn copy(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    last: &Cell<Instant>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 << 10];
    loop {
        let length = from.read(&mut bytes).await?;
        last.set(Instant::now());
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(bytes.get(..length).unwrap_or_default()).await?;
        last.set(Instant::now());
    }
}
