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
    accept::{Front, at_port, at_socket},
    async_fd::watched,
    auth::Entry,
    connections::Crowd,
    live_project::Seed,
    router,
    runtime_files::Place,
    state::{House, here},
    writer::Writer,
};
use crate::{
    actions::{App, boundary::runtime::session_of_run},
    domain::{Actor, SessionId},
    os::{core_dumps, notify::ChangeWaiter},
};

/// How long requests that are being answered may still take when the server is to end.
const DRAIN: Duration = Duration::from_secs(5);

/// Who acts when nobody says for whom they ask.
const NAME: &str = "worker-api";

/// How to serve.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Also on 127.0.0.1, at this port; 0 is any.
    pub http: Option<u16>,
    /// For how long; `None` until somebody ends it.
    pub span: Option<Duration>,
    /// For whom: the port is also written down under this name.
    pub session: Option<SessionId>,
}

/// Where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listening {
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
pub fn serve(app: &App, options: &Options, tell: impl FnOnce(&Listening) -> Result<()>) -> Result<()> {
    core_dumps::disable().context("this process cannot be kept from writing its memory to a file")?;
    let mut place = Place::take(app)?;
    // Whoever asks acts as themselves, and not as the session or the person that has started us.
    let name = NAME.to_owned();
    let app = &app.with_actor(Actor { name, session: None, run_id: None, role: None, lane: None, epoch: None }, None);
    // Made now, so that nobody ever looks into an empty one that stands for it.
    app.store_for_writing()?;
    let waiter = app.waiter("serve")?;
    let seed = Seed::of(app);
    let (change, changes) = watch::channel(0_u64);
    let (end, ending) = watch::channel(false);
    let writer = Writer::start(seed.clone()).context("the server has no thread to write")?;
    House::open(seed.open()?, writer, changes, ending.clone(), app.env.now());
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let crowd = Crowd::new();
        let front = Front { router: router::router(), crowd: crowd.clone(), ending };
        let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let listener = place.listener().context("the place has no socket")?;
        let mut doors = vec![tokio::spawn(at_socket(front.clone(), UnixListener::from_std(listener)?))];
        let mut port = None;
        if let Some(wanted) = options.http {
            let listener = TcpListener::bind(("127.0.0.1", wanted)).await;
            let listener = listener.with_context(|| format!("cannot listen at 127.0.0.1:{wanted}"))?;
            let number = listener.local_addr()?.port();
            let entry = Entry::Port { port: number, token: place.token()? };
            place.port(number, options.session.as_ref())?;
            doors.push(tokio::spawn(at_port(front, listener, entry)));
            port = Some(number);
        }
        tokio::spawn(listen_for_changes(waiter, change));
        let token_file = port.map(|_| app.project.runtime().join(crate::api_client::socket_path::TOKEN));
        tell(&Listening { socket: place.socket.clone(), port, token_file, pid: std::process::id() })?;
        told_to_end(signals, options.span).await;
        place.shut();
        end.send_replace(true);
        for door in doors {
            let _ = door.await;
        }
        // Who has not been answered by then is not.
        let _ = timeout(DRAIN, crowd.gone()).await;
        anyhow::Ok(())
    });
    runtime.shutdown_background();
    House::close();
    served
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(64).build().context("the server cannot be started")
}

async fn told_to_end(signals: (Signal, Signal), span: Option<Duration>) {
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
fn forget_who_is_gone() {
    let Ok(house) = here() else { return };
    if house.identities.borrow().is_empty() {
        return;
    }
    let is_over = |run: &str| {
        let session = house.look(|app| app.read(|tx| session_of_run(tx, run)));
        session.is_ok_and(|session| session.status.is_final())
    };
    house.identities.borrow_mut().forget(is_over);
}

/// Tells everybody here that somebody has changed the store.
async fn listen_for_changes(waiter: ChangeWaiter, change: watch::Sender<u64>) {
    let Ok(bell) = watched(waiter) else { return };
    while let Ok(mut rang) = bell.readable().await {
        let _ = bell.get_ref().0.drain();
        rang.clear_ready();
        forget_who_is_gone();
        change.send_modify(|count| *count += 1);
    }
}
