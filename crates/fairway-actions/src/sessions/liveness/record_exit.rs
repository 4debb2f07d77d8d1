//! The end of a session as its supervisor reports it, with the program's exit code.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::core::{launch_event, open_store, session_events};
use fairway_core::adapters::StartConfig;
use fairway_core::config::project::{STATE_DIR, STORE_FILE};
use fairway_core::config::{Project, load_in_force};
use fairway_core::domain::SessionId;
use fairway_core::domain::session::{Activity, SessionStatus};
use fairway_core::env::{Env, vars};
use fairway_core::os::poll_until;
use fairway_core::store::{Store, StoreError, sessions};

/// How long a write to a locked or full store is retried.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// Records that the program which was started with the configuration `start` has ended, with its exit code. Does nothing when the
/// configuration names no Fairway session, when the session is final or has another run by now, and while its launch is rolled
/// back or its program is being replaced. Retries while the store is locked or full.
pub fn record(env: &Env, start: &StartConfig, code: i32) -> Result<()> {
    let (Some(root), Some(id), Some(run)) =
        (start.var(vars::FAIRWAY_ROOT), start.var(vars::FAIRWAY_SESSION_ID), start.var(vars::FAIRWAY_RUN_ID))
    else {
        return Ok(());
    };
    let (id, root) = (SessionId::parse(id)?, PathBuf::from(root));
    let state = root.join(STATE_DIR);
    let path = start.var(vars::FAIRWAY_DB).map_or_else(|| state.join(STORE_FILE), PathBuf::from);
    let project = Project::at(root, env);
    // A broken configuration does not lose the end of a session whose store is a file.
    let settings = load_in_force(&project, env).map(|(_, settings)| settings.store).unwrap_or_default();
    if !settings.is_on_server() && !path.is_file() {
        return Ok(());
    }
    let once = || -> Result<()> {
        let store = if settings.is_on_server() {
            open_store::for_writing(env, &project, &settings)?
        } else {
            Store::open_for_writing(&path, &state.join("runtime"), None)?
        };
        store.write(env.clock, id.as_str(), |tx| {
            let Some(session) = sessions::find(tx, &id)?.filter(|session| session.run_id.as_str() == run) else {
                return Ok(());
            };
            let is_stopping = session.activity == Activity::Stopping;
            // The rollback of a failed launch records the reason itself.
            let is_rolled_back =
                is_stopping && session.status == SessionStatus::Starting && !session.is_being_stopped();
            if session.status.is_final() || is_rolled_back || launch_event::is_switching(tx, &session)? {
                return Ok(());
            }
            let (status, reason) = match code {
                _ if is_stopping => (SessionStatus::Ended, Some("stopped".to_owned())),
                0 => (SessionStatus::Ended, None),
                code => (SessionStatus::Failed, Some(format!("its program ended with exit code {code}"))),
            };
            session_events::end(tx, &session, status, Some(i64::from(code)), reason.as_deref())?;
            Ok(())
        })
    };
    let mut last = None;
    let result = poll_until::poll_until(STORE_TIMEOUT, Duration::from_millis(500), || match once() {
        Err(error) if is_transient(&error) => {
            last = Some(error);
            None
        }
        done => Some(done),
    });
    match (result, last) {
        (Some(done), _) => done,
        (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}

fn is_transient(error: &anyhow::Error) -> bool {
    error.downcast_ref::<StoreError>().is_some_and(StoreError::is_passing)
}
