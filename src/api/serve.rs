//! Serving, from the first connection to the last answer.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use serde::Serialize;
use tokio::{
    net::{TcpListener, UnixListener},
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    accept::{Acceptor, accept_on_port, accept_on_socket},
    async_fd::register_fd,
    auth::Transport,
    connections::Connections,
    live_project::AppFactory,
    router,
    runtime_files::RuntimeFiles,
    state::{ServerState, server_state},
    writer::Writer,
};
use crate::{
    actions::{App, boundary::runtime::session_of_run},
    domain::{Actor, SessionId},
    os::{core_dumps, notify::ChangeWaiter},
};

/// How long requests that are being answered may still take when the server is to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Who acts when nobody says for whom they ask.
const ACTOR_NAME: &str = "worker-api";

/// How to serve.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Also on 127.0.0.1, at this port; 0 is any.
    pub http_port: Option<u16>,
    /// For how long; `None` until somebody ends it.
    pub exit_after: Option<Duration>,
    /// For whom: the port is also written down under this name.
    pub session: Option<SessionId>,
}

/// Where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListenAddress {
    /// The socket.
    pub socket: PathBuf,
    /// The port on 127.0.0.1.
    pub port: Option<u16>,
    /// The file with the token for it.
    pub token_file: Option<PathBuf>,
    /// This process.
    pub pid: u32,
}

/// Serves until TERM or INT; `tell` is called once, when it listens.
///
/// # Errors
/// `serve_running` when another one does; `exists`; as the store or the settings cannot be read.
pub fn serve(app: &App, options: &ServeOptions, tell: impl FnOnce(&ListenAddress) -> Result<()>) -> Result<()> {
    core_dumps::disable().context("this process cannot be kept from writing its memory to a file")?;
    let mut place = RuntimeFiles::acquire(app)?;
    // Whoever asks acts as themselves, and not as the session or the person that has started us.
    let name = ACTOR_NAME.to_owned();
    let app = &app.with_actor(Actor { name, session: None, run_id: None, role: None, lane: None, epoch: None }, None);
    // Made now, so that nobody ever looks into an empty one that stands for it.
    app.store_for_writing()?;
    let waiter = app.waiter("serve")?;
    let seed = AppFactory::new(app);
    let (change, changes) = watch::channel(0_u64);
    let (end, ending) = watch::channel(false);
    let writer = Writer::start(seed.clone()).context("the server has no thread to write")?;
    ServerState::open(seed.open()?, writer, changes, ending.clone(), app.env.now());
    let runtime = build_runtime()?;
    let served = runtime.block_on(async {
        let crowd = Connections::new();
        let front = Acceptor { router: router::router(), connections: crowd.clone(), shutdown: ending };
        let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let listener = place.take_listener().context("the place has no socket")?;
        let mut doors = vec![tokio::spawn(accept_on_socket(front.clone(), UnixListener::from_std(listener)?))];
        let mut port = None;
        if let Some(wanted) = options.http_port {
            let listener = TcpListener::bind(("127.0.0.1", wanted)).await;
            let listener = listener.with_context(|| format!("cannot listen at 127.0.0.1:{wanted}"))?;
            let number = listener.local_addr()?.port();
            let entry = Transport::Port { port: number, token: place.write_token()? };
            place.write_port(number, options.session.as_ref())?;
            doors.push(tokio::spawn(accept_on_port(front, listener, entry)));
            port = Some(number);
        }
        tokio::spawn(forward_store_changes(waiter, change));
        let token_file = port.map(|_| app.project.runtime_dir().join(crate::api_client::socket_path::TOKEN_FILE));
        tell(&ListenAddress { socket: place.socket.clone(), port, token_file, pid: std::process::id() })?;
        shutdown_signal(signals, options.exit_after).await;
        place.remove_all();
        end.send_replace(true);
        for door in doors {
            let _ = door.await;
        }
        // Who has not been answered by then is not.
        let _ = timeout(DRAIN_TIMEOUT, crowd.wait_drained()).await;
        anyhow::Ok(())
    });
    runtime.shutdown_background();
    ServerState::close();
    served
}

fn build_runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(64).build().context("the server cannot be started")
}

async fn shutdown_signal(signals: (Signal, Signal), span: Option<Duration>) {
    let (mut term, mut int) = signals;
    let over = async {
        match span {
            Some(span) => sleep(span).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
        () = over => {}
    }
}

/// Forgets the identities of sessions that have ended.
fn drop_ended_identities() {
    let Ok(house) = server_state() else { return };
    if house.identities.borrow().is_empty() {
        return;
    }
    let is_over = |run: &str| {
        let session = house.read(|app| app.read(|tx| session_of_run(tx, run)));
        session.is_ok_and(|session| session.status.is_final())
    };
    house.identities.borrow_mut().remove_ended(is_over);
}

/// Tells everybody here that somebody has changed the store.
async fn forward_store_changes(waiter: ChangeWaiter, change: watch::Sender<u64>) {
    let Ok(bell) = register_fd(waiter) else { return };
    while let Ok(mut rang) = bell.readable().await {
        let _ = bell.get_ref().0.drain();
        rang.clear_ready();
        drop_ended_identities();
        change.send_modify(|count| *count += 1);
    }
}
