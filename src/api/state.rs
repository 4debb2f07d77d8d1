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
    error::Fault,
    identity::Keeper,
    live_project::{Current, Seed},
    writer::{Writer, done},
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
const PATIENCE: Duration = Duration::from_secs(30);
/// How many may do at once what takes long.
const OUTSIDE: usize = 32;

thread_local! {
    static HOUSE: RefCell<Option<Rc<House>>> = const { RefCell::new(None) };
}

static BUSY: Semaphore = Semaphore::const_new(OUTSIDE);

/// The house.
#[derive(Debug)]
pub(super) struct House {
    current: RefCell<Current>,
    pub(super) writer: Writer,
    /// Whose credentials are known.
    pub(super) identities: RefCell<Keeper>,
    /// Changes whenever somebody has changed the store.
    pub(super) changes: watch::Receiver<u64>,
    /// Becomes true when the server is to end.
    pub(super) ending: watch::Receiver<bool>,
    pub(super) started: Timestamp,
}

impl House {
    /// Makes the house of this thread.
    pub(super) fn open(
        current: Current,
        writer: Writer,
        changes: watch::Receiver<u64>,
        ending: watch::Receiver<bool>,
        started: Timestamp,
    ) {
        let house =
            Self { current: RefCell::new(current), writer, identities: RefCell::default(), changes, ending, started };
        HOUSE.with(|here| here.replace(Some(Rc::new(house))));
    }

    /// Closes it: everything in line is done, and every credential forgotten.
    pub(super) fn close() {
        if let Some(house) = HOUSE.take()
            && let Some(house) = Rc::into_inner(house)
        {
            drop(house.identities);
            house.writer.end();
        }
    }

    /// The settings and the store, for looking.
    ///
    /// # Errors
    /// As the settings cannot be read.
    pub(super) fn app(&self) -> Result<App> {
        let mut current = self.current.borrow_mut();
        let app = current.app()?;
        Ok(app.with_actor(app.actor.clone(), None))
    }

    /// The same with the guard's rules.
    ///
    /// # Errors
    /// As `judge` fails.
    pub(super) fn judge<T>(&self, judge: impl FnOnce(&App, &LoadedRules) -> Result<T>) -> Result<T, Fault> {
        let mut current = self.current.borrow_mut();
        let judged = current.guarded().and_then(|(app, prepared)| judge(app, prepared));
        judged.map_err(|error| {
            current.learn(&error);
            error.into()
        })
    }

    /// Looks at something in place. It must not wait for anything.
    ///
    /// # Errors
    /// As `look` fails.
    pub(super) fn look<T>(&self, look: impl FnOnce(&App) -> Result<T>) -> Result<T, Fault> {
        let looked = self.app().and_then(|app| look(&app));
        looked.map_err(|error| {
            self.current.borrow_mut().learn(&error);
            error.into()
        })
    }
}

/// The house of this thread.
///
/// # Errors
/// When it is closed.
pub(super) fn here() -> Result<Rc<House>, Fault> {
    HOUSE.with(|here| here.borrow().clone()).ok_or_else(|| Fault::busy("the server is ending"))
}

/// Looks at something in place.
///
/// # Errors
/// As `look` fails.
pub(super) fn look<T>(look: impl FnOnce(&App) -> Result<T>) -> Result<T, Fault> {
    here()?.look(look)
}

/// Has something changed by the thread that writes.
///
/// # Errors
/// As `job` fails, or when it takes too long.
pub(super) async fn change<T: Send + 'static>(
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, Fault> {
    let told = here()?.writer.change(job)?;
    match timeout(PATIENCE, told).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(Fault::internal("nobody writes any more")),
        Err(_) => Err(Fault::busy("the store is busy")),
    }
}

/// Does what may wait for a program, in a thread and with a store of its own.
///
/// # Errors
/// As `job` fails, or when too many do so already.
pub(super) async fn outside<T: Send + 'static>(
    job: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, Fault> {
    let seed = Seed::of(&here()?.app()?);
    let place = match BUSY.try_acquire() {
        Ok(place) => place,
        Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
            return Err(Fault::busy(format!("{OUTSIDE} programs are waited for already")));
        }
    };
    let ran = task::spawn_blocking(move || {
        let _place = place;
        let mut current = seed.open()?;
        done(&mut current, job)
    });
    ran.await.unwrap_or_else(|_| Err(Fault::internal("a call broke off")))
}

/// The house as the session of a run sees it; as nobody in particular when the run is unknown.
///
/// # Errors
/// As the store fails.
pub(super) fn as_run(app: &App, run: &str, request: Option<IdempotencyKey>) -> Result<App> {
    let known = app.read(|tx| Ok(sessions::by_run(tx, &normalize_run_id(run))?))?;
    Ok(match known {
        Some(session) => as_session(app, &session, request),
        None => app.with_actor(app.actor.clone(), request),
    })
}

/// The house as a session sees it.
pub(super) fn as_session(app: &App, session: &Session, request: Option<IdempotencyKey>) -> App {
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
