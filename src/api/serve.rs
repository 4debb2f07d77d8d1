//! `fairway serve`: starts the server and runs it until a signal or the time limit.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::accept::{Acceptor, accept_on_port, accept_on_socket};
use super::async_fd::register_fd;
use super::auth::Transport;
use super::connections::Connections;
use super::live_project::AppFactory;
use super::log::warn;
use super::page::{Access, PageProviders, Site, SiteAddresses};
use super::routes;
use super::runtime_files::RuntimeFiles;
use super::state::{ServerState, server_state};
use super::store_writer::Writer;
use super::tls::Certificate;
use fairway_actions::App;
use fairway_actions::agents::runtime::session_of_run;
use fairway_actions::core::{inside_session, store_safety};
use fairway_actions::upkeep::notify;
use fairway_core::api_client::server_files::ShownPage;
use fairway_core::domain::{Actor, RunId, SessionId};
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::this_process;
use fairway_core::store::snapshots;

const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The actor of a request without a session.
const ACTOR_NAME: &str = "worker-api";

#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Also listen at this port of 127.0.0.1; 0 takes any free one.
    pub http_port: Option<u16>,
    /// Exit after this time; `None` for never.
    pub exit_after: Option<Duration>,
    /// Also write the port number under this session's name.
    pub session: Option<SessionId>,
    pub page: PageOptions,
}

#[derive(Debug, Clone)]
pub struct PageOptions {
    /// Make a URL that a browser can open once, with this access.
    pub open: Option<Access>,
    /// Also serve the page at this address.
    pub listen: Option<SocketAddr>,
    /// Whether the page speaks plain HTTP there.
    pub is_unencrypted: bool,
    pub providers: PageProviders,
}

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListenAddress {
    /// The Unix socket.
    pub socket: PathBuf,
    /// The port on 127.0.0.1.
    pub port: Option<u16>,
    /// The file with the bearer token for the port.
    pub token_file: Option<PathBuf>,
    /// The page's address on this machine.
    pub page: Option<String>,
    /// The page's address in the network.
    pub listen: Option<SocketAddr>,
    /// Where the page is for other machines: there, or behind the proxy of `serve.hosts`.
    pub listen_url: Option<String>,
    /// The SHA-256 fingerprint of the certificate there; null without HTTPS.
    pub fingerprint: Option<String>,
    /// The address that a browser can open once; `None` when none was asked for, or a browser was started with it.
    pub open_url: Option<String>,
    /// The server's process id.
    pub pid: u32,
}

/// Serves until SIGTERM, SIGINT or the time limit. Calls `on_listen` once the server listens.
///
/// # Errors
/// `serve_running` when another server runs; `exists` when the path of the socket is taken; `inside_session` or
/// `not_confirmed` when the page is to be opened and the caller may be an agent, because the page acts as a person.
pub fn serve(app: &App, options: &ServeOptions, on_listen: impl FnOnce(&ListenAddress) -> Result<()>) -> Result<()> {
    this_process::disable_core_dumps().context("cannot disable core dumps")?;
    if options.page.open.is_some() {
        // The page acts as the person who starts the server.
        inside_session::refuse(app, "serve --open")?;
    }
    let person = AppFactory::for_page(app);
    let mut files = RuntimeFiles::acquire(app)?;
    // A client must not act as the session or the user that started the server.
    let name = ACTOR_NAME.to_owned();
    let app = &app.with_actor(Actor { name, session: None, run_id: None, role: None, lane: None, epoch: None }, None);
    // Created now: a read would otherwise be answered from an empty store.
    app.store_for_writing()?;
    let is_inside = inside_session::is_inside(app);
    let waiter = app.waiter("serve")?;
    let factory = AppFactory::new(app);
    let (change, changes) = watch::channel(0_u64);
    let (end, ending) = watch::channel(false);
    let writer = Writer::start(factory.clone()).context("cannot start the writer thread")?;
    ServerState::open(factory.clone().open()?, writer, changes, &waiter, ending.clone(), app.env.now(), is_inside);
    // A server inside a session may lack the network or the desktop, and would use up a person's notifications.
    let _notifications = if is_inside {
        None
    } else {
        Some(notify::send_in_background(app, options.page.providers.labels.clone(), warn)?)
    };
    let runtime = build_runtime()?;
    let served = runtime.block_on(async {
        let connections = Connections::new();
        let acceptor = Acceptor { router: routes::router(), connections: connections.clone(), shutdown: ending };
        let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let listener = files.take_listener().context("the socket has no listener")?;
        let mut accept_loops =
            vec![tokio::spawn(accept_on_socket(acceptor.clone(), UnixListener::from_std(listener)?))];
        let mut port = None;
        let mut shown: Option<(ShownPage, Option<String>)> = None;
        let mut listen = None;
        if let Some(requested) = options.http_port {
            let listener = TcpListener::bind(("127.0.0.1", requested)).await;
            let listener = listener.with_context(|| format!("cannot listen at 127.0.0.1:{requested}"))?;
            let number = listener.local_addr()?.port();
            let transport = Transport::Port { port: number, token: files.write_token()? };
            files.write_port(number, options.session.as_ref())?;
            let mut fingerprint = None;
            if let Some(wanted) = options.page.listen {
                let listener = TcpListener::bind(wanted).await.with_context(|| format!("cannot listen at {wanted}"))?;
                listen = Some(listener.local_addr()?);
                let certificate = if options.page.is_unencrypted {
                    None
                } else {
                    Some(Certificate::load_or_make(&app.project.state, wanted.ip(), app.env.now())?)
                };
                fingerprint = certificate.as_ref().map(Certificate::fingerprint);
                let tls = certificate.map(|certificate| certificate.acceptor()).transpose()?;
                let transport = Transport::Network { is_encrypted: tls.is_some() };
                accept_loops.push(tokio::spawn(accept_on_port(acceptor.clone(), listener, transport, tls)));
            }
            let proxied = app.settings.serve.hosts.clone();
            let addresses = SiteAddresses { port: number, listen, fingerprint, proxied };
            let site = Site::open(&addresses, person, &options.page.providers, is_inside)?;
            let page = site.shown();
            files.write_page(&page)?;
            let open = options.page.open.map(|access| site.one_time_url(&site.origin(), access)).transpose()?;
            shown = Some((page, open));
            tokio::spawn(site.follow_devices());
            accept_loops.push(tokio::spawn(accept_on_port(acceptor, listener, transport, None)));
            port = Some(number);
        }
        tokio::spawn(keep_store_safe(factory, change.subscribe()));
        tokio::spawn(forward_store_changes(waiter, change));
        let token_file =
            port.map(|_| app.project.runtime_dir().join(fairway_core::api_client::server_files::TOKEN_FILE));
        let socket = files.socket.clone();
        let (page, open_url) = shown.unzip();
        on_listen(&ListenAddress {
            socket,
            port,
            token_file,
            page: page.as_ref().map(|page| page.origin.clone()),
            listen,
            listen_url: page.as_ref().and_then(|page| page.network.clone()),
            fingerprint: page.and_then(|page| page.fingerprint),
            open_url: open_url.flatten(),
            pid: std::process::id(),
        })?;
        shutdown_signal(signals, options.exit_after).await;
        files.remove_all();
        end.send_replace(true);
        for accept_loop in accept_loops {
            let _ = accept_loop.await;
        }
        // Requests still in flight after that are dropped.
        let _ = timeout(DRAIN_TIMEOUT, connections.wait_drained()).await;
        anyhow::Ok(())
    });
    runtime.shutdown_background();
    Site::close();
    ServerState::close();
    served
}

fn build_runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(64)
        .build()
        .context("cannot start the async runtime")
}

async fn shutdown_signal(signals: (Signal, Signal), exit_after: Option<Duration>) {
    let (mut term, mut int) = signals;
    let time_limit = async {
        match exit_after {
            Some(limit) => sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
        () = time_limit => {}
    }
}

/// Calls `store_safety::keep_safe` at the start and after each pause in the changes of the store.
async fn keep_store_safe(factory: AppFactory, mut changes: watch::Receiver<u64>) {
    loop {
        let factory = factory.clone();
        let work = move || factory.open().map(|mut project| project.app().map(store_safety::keep_safe));
        // An error, such as no place for snapshots, must not stop the server's other work.
        let _ = tokio::task::spawn_blocking(move || drop(work())).await;
        if changes.changed().await.is_err() {
            return;
        }
        // The server's own writes make no snapshot before it ends. When writes pause, the log is idle.
        sleep(snapshots::IDLE_WAL_AGE + Duration::from_secs(1)).await;
    }
}

/// Forgets the identities of sessions that have ended.
fn drop_ended_identities() {
    let Ok(state) = server_state() else { return };
    if state.identities.borrow().is_empty() {
        return;
    }
    let has_ended = |run: &RunId| {
        let session = state.read(|app| app.read(|tx| session_of_run(tx, run)));
        session.is_ok_and(|session| session.status.is_final())
    };
    state.identities.borrow_mut().remove_ended(has_ended);
}

/// Counts changes of the store by any process. The count wakes every task that waits for one.
async fn forward_store_changes(waiter: ChangeWaiter, change: watch::Sender<u64>) {
    let Ok(fd) = register_fd(waiter) else { return };
    while let Ok(mut ready) = fd.readable().await {
        let _ = fd.get_ref().0.drain();
        ready.clear_ready();
        drop_ended_identities();
        change.send_modify(|count| *count += 1);
    }
}
