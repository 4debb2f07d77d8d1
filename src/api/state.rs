//! What every handler works with. There is one house, in the thread that serves, and no handler takes it across an `await`:
//! so nothing in it needs a lock.

use std::{cell::RefCell, rc::Rc, time::Duration};

use anyhow::Result;
use tokio::{
    sync::{Semaphore, TryAcquireError, watch},
    task,
    time::timeout,
};

use super::{
    error::ApiError,
    identity::IdentityStore,
    live_project::{AppFactory, LiveProject},
    writer::{Writer, run_catching_panic},
};
use crate::{
    actions::{
        App, IdempotencyKey,
        boundary::{guard::LoadedRules, runtime::normalize_run_id},
    },
    domain::{Actor, session::Session},
    env::Timestamp,
    store::sessions,
};

/// How long a change may take before whoever asked is told to try again.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How many may do at once what takes long.
const MAX_BLOCKING_CALLS: usize = 32;

thread_local! {
    static STATE: RefCell<Option<Rc<ServerState>>> = const { RefCell::new(None) };
}

static BLOCKING_SLOTS: Semaphore = Semaphore::const_new(MAX_BLOCKING_CALLS);

/// The house.
#[derive(Debug)]
pub(super) struct ServerState {
    project: RefCell<LiveProject>,
    pub(super) writer: Writer,
    /// Whose credentials are known.
    pub(super) identities: RefCell<IdentityStore>,
    /// Changes whenever somebody has changed the store.
    pub(super) changes: watch::Receiver<u64>,
    /// Becomes true when the server is to end.
    pub(super) shutdown: watch::Receiver<bool>,
    pub(super) started: Timestamp,
}

impl ServerState {
    /// Makes the house of this thread.
    pub(super) fn open(
        current: LiveProject,
        writer: Writer,
        changes: watch::Receiver<u64>,
        ending: watch::Receiver<bool>,
        started: Timestamp,
    ) {
        let house = Self {
            project: RefCell::new(current),
            writer,
            identities: RefCell::default(),
            changes,
            shutdown: ending,
            started,
        };
        STATE.with(|here| here.replace(Some(Rc::new(house))));
    }

    /// Closes it: everything in line is done, and every credential forgotten.
    pub(super) fn close() {
        if let Some(house) = STATE.take()
            && let Some(house) = Rc::into_inner(house)
        {
            drop(house.identities);
            house.writer.finish();
        }
    }

    /// The settings and the store, for looking.
    ///
    /// # Errors
    /// As the settings cannot be read.
    pub(super) fn app(&self) -> Result<App> {
        let mut current = self.project.borrow_mut();
        let app = current.app()?;
        Ok(app.with_actor(app.actor.clone(), None))
    }

    /// The same with the guard's rules.
    ///
    /// # Errors
    /// As `judge` fails.
    pub(super) fn with_guard_rules<T>(
        &self,
        judge: impl FnOnce(&App, &LoadedRules) -> Result<T>,
    ) -> Result<T, ApiError> {
        let mut current = self.project.borrow_mut();
        let judged = current.app_and_guard_rules().and_then(|(app, prepared)| judge(app, prepared));
        judged.map_err(|error| {
            current.note_error(&error);
            error.into()
        })
    }

    /// Looks at something in place. It must not wait for anything.
    ///
    /// # Errors
    /// As `look` fails.
    pub(super) fn read<T>(&self, look: impl FnOnce(&App) -> Result<T>) -> Result<T, ApiError> {
        let looked = self.app().and_then(|app| look(&app));
        looked.map_err(|error| {
            self.project.borrow_mut().note_error(&error);
            error.into()
        })
    }
}

/// The house of this thread.
///
/// # Errors
/// When it is closed.
pub(super) fn server_state() -> Result<Rc<ServerState>, ApiError> {
    STATE.with(|here| here.borrow().clone()).ok_or_else(|| ApiError::busy("the server is ending"))
}

/// Looks at something in place.
///
/// # Errors
/// As `look` fails.
pub(super) fn read<T>(look: impl FnOnce(&App) -> Result<T>) -> Result<T, ApiError> {
    server_state()?.read(look)
}

/// Has something changed by the thread that writes.
///
/// # Errors
/// As `job` fails, or when it takes too long.
pub(super) async fn write<T: Send + 'static>(
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let told = server_state()?.writer.write(job)?;
    match timeout(WRITE_TIMEOUT, told).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(ApiError::internal("nobody writes any more")),
        Err(_) => Err(ApiError::busy("the store is busy")),
    }
}

/// Does what may wait for a program, in a thread and with a store of its own.
///
/// # Errors
/// As `job` fails, or when too many do so already.
pub(super) async fn run_blocking<T: Send + 'static>(
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let seed = AppFactory::new(&server_state()?.app()?);
    let place = match BLOCKING_SLOTS.try_acquire() {
        Ok(place) => place,
        Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
            return Err(ApiError::busy(format!("{MAX_BLOCKING_CALLS} programs are waited for already")));
        }
    };
    let ran = task::spawn_blocking(move || {
        let _place = place;
        let mut current = seed.open()?;
        run_catching_panic(&mut current, job)
    });
    ran.await.unwrap_or_else(|_| Err(ApiError::internal("a call broke off")))
}

/// The house as the session of a run sees it; as nobody in particular when the run is unknown.
///
/// # Errors
/// As the store fails.
pub(super) fn app_as_run(app: &App, run: &str, request: Option<IdempotencyKey>) -> Result<App> {
    let known = app.read(|tx| Ok(sessions::by_run_id(tx, &normalize_run_id(run))?))?;
    Ok(match known {
        Some(session) => app_as_session(app, &session, request),
        None => app.with_actor(app.actor.clone(), request),
    })
}

/// The house as a session sees it.
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
