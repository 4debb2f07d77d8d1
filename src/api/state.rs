//! The state that all handlers share. It belongs to the serving thread, and no handler borrows it across an `await`, so it
//! needs no lock.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::{Semaphore, TryAcquireError, watch};
use tokio::task;
use tokio::time::timeout;

use super::error::ApiError;
use super::identity::IdentityStore;
use super::live_project::{AppFactory, LiveProject};
use super::store_writer::{Writer, run_catching_panic};
use fairway_actions::agents::guard::LoadedRules;
use fairway_actions::{App, IdempotencyKey};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Actor, RunId};
use fairway_core::env::Timestamp;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::store::sessions;

/// After this time a client gets `server_busy`.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BLOCKING_CALLS: usize = 32;

thread_local! {
    static STATE: RefCell<Option<Rc<ServerState>>> = const { RefCell::new(None) };
}

static BLOCKING_SLOTS: Semaphore = Semaphore::const_new(MAX_BLOCKING_CALLS);

#[derive(Debug)]
pub(super) struct ServerState {
    project: RefCell<LiveProject>,
    pub(super) writer: Writer,
    pub(super) identities: RefCell<IdentityStore>,
    /// Changes when any process has changed the store.
    pub(super) changes: watch::Receiver<u64>,
    /// The socket at which changes are announced.
    waiter: PathBuf,
    /// Becomes true when the server shuts down.
    pub(super) shutdown: watch::Receiver<bool>,
    pub(super) started: Timestamp,
    /// Whether the server was started inside of a session. Such a server does not decide about agents' tool calls.
    pub(super) is_inside: bool,
}

impl ServerState {
    /// Creates the server state and keeps it for the current thread, where `server_state` finds it.
    pub(super) fn open(
        current: LiveProject,
        writer: Writer,
        changes: watch::Receiver<u64>,
        waiter: &ChangeWaiter,
        shutdown: watch::Receiver<bool>,
        started: Timestamp,
        is_inside: bool,
    ) {
        let waiter = waiter.path().to_path_buf();
        let project = RefCell::new(current);
        let state =
            Self { project, writer, identities: RefCell::default(), changes, waiter, shutdown, started, is_inside };
        STATE.with(|here| here.replace(Some(Rc::new(state))));
    }

    /// Drops the current thread's state, which overwrites credentials with zeros. Then waits until the queued writes are
    /// done, unless a request that has not ended still uses the state.
    pub(super) fn close() {
        if let Some(state) = STATE.take()
            && let Some(state) = Rc::into_inner(state)
        {
            drop(state.identities);
            state.writer.finish();
        }
    }

    /// Whether the server notices changes by other processes. It does while the state directory is still the one that it was
    /// started with.
    pub(super) fn hears_changes(&self) -> bool {
        self.waiter.exists()
    }

    /// The app with current settings.
    pub(super) fn app(&self) -> Result<App> {
        let mut current = self.project.borrow_mut();
        let app = current.app()?;
        Ok(app.with_actor(app.actor.clone(), None))
    }

    pub(super) fn with_guard_rules<T>(
        &self,
        evaluate: impl FnOnce(&App, &LoadedRules) -> Result<T>,
    ) -> Result<T, ApiError> {
        let mut current = self.project.borrow_mut();
        let result = current.app_and_guard_rules().and_then(|(app, rules)| evaluate(app, rules));
        result.map_err(|error| {
            current.note_error(&error);
            error.into()
        })
    }

    /// Runs `query` in the thread that serves requests. The query must therefore not wait for anything.
    pub(super) fn read<T>(&self, query: impl FnOnce(&App) -> Result<T>) -> Result<T, ApiError> {
        let result = self.app().and_then(|app| query(&app));
        result.map_err(|error| {
            self.project.borrow_mut().note_error(&error);
            error.into()
        })
    }
}

/// The server state of the current thread. Error: `server_busy` during shutdown.
pub(super) fn server_state() -> Result<Rc<ServerState>, ApiError> {
    STATE.with(|here| here.borrow().clone()).ok_or_else(|| ApiError::busy("the server is shutting down"))
}

/// Like [`ServerState::read`], with the current thread's state.
pub(super) fn read<T>(query: impl FnOnce(&App) -> Result<T>) -> Result<T, ApiError> {
    server_state()?.read(query)
}

/// Runs `job` in the writer thread. Fails when `job` fails or the writer takes too long.
pub(super) async fn write<T: Send + 'static>(
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let result = server_state()?.writer.write(job)?;
    match timeout(WRITE_TIMEOUT, result).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(ApiError::internal("the store writer has stopped")),
        Err(_) => Err(ApiError::busy("the store is busy")),
    }
}

/// Runs `job` in a thread and with a store connection of its own, because it may wait for another program. Fails when `job`
/// fails or too many such calls run.
pub(super) async fn run_blocking<T: Send + 'static>(
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let factory = AppFactory::new(&server_state()?.app()?);
    run_blocking_as(factory, job).await
}

/// Like [`run_blocking`], but `factory` opens the project, perhaps for another actor.
pub(super) async fn run_blocking_as<T: Send + 'static>(
    factory: AppFactory,
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let permit = match BLOCKING_SLOTS.try_acquire() {
        Ok(permit) => permit,
        Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
            return Err(ApiError::busy(format!("{MAX_BLOCKING_CALLS} blocking calls are running")));
        }
    };
    let ran = task::spawn_blocking(move || {
        let _permit = permit;
        let mut current = factory.open()?;
        run_catching_panic(&mut current, job)
    });
    ran.await.unwrap_or_else(|_| Err(ApiError::internal("internal error: a blocking call panicked")))
}

/// Returns `app` with the session of a run as its actor and `request` as its idempotency key. When no session has this run,
/// the actor stays as it is.
pub(super) fn app_as_run(app: &App, run: &RunId, request: Option<IdempotencyKey>) -> Result<App> {
    let known = app.read(|tx| Ok(sessions::by_run_id(tx, run)?))?;
    Ok(match known {
        Some(session) => app_as_session(app, &session, request),
        None => app.with_actor(app.actor.clone(), request),
    })
}

pub(super) fn app_as_session(app: &App, session: &Session, request: Option<IdempotencyKey>) -> App {
    let actor = Actor {
        name: session.id.to_string(),
        session: Some(session.id.clone()),
        run_id: Some(session.run_id.clone()),
        role: Some(session.role.clone()),
        lane: session.lane.clone(),
        epoch: None,
    };
    app.with_actor(actor, request)
}
