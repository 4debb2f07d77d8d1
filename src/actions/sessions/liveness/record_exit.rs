//! The end that a session's own supervisor reports: its program's exit code.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;

use crate::actions::sessions::finish;
use crate::{
    adapters::StartConfig,
    config::project::{STATE_DIR, STORE_FILE},
    domain::{
        SessionId,
        session::{Activity, SessionStatus},
    },
    env::{Env, vars},
    os::poll_until,
    store::{Store, StoreError, sessions},
};

/// How long a locked or full store is tried again.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// Records that the program of the session that this configuration started has ended. Without a Fairway session there is
/// nothing to record; a session that is final, or of another run by now, stays as it is.
///
/// # Errors
/// As the store fails.
pub fn record(env: &Env, start: &StartConfig, code: i32) -> Result<()> {
    let (Some(root), Some(id), Some(run)) =
        (start.var(vars::FAIRWAY_ROOT), start.var(vars::FAIRWAY_SESSION_ID), start.var(vars::FAIRWAY_RUN_ID))
    else {
        return Ok(());
    };
    let (id, state) = (SessionId::parse(id)?, PathBuf::from(root).join(STATE_DIR));
    let path = start.var(vars::FAIRWAY_DB).map_or_else(|| state.join(STORE_FILE), PathBuf::from);
    if !path.is_file() {
        return Ok(());
    }
    let once = || -> Result<()> {
        let store = Store::open_for_writing(&path, &state.join("runtime"))?;
        store.write(env.now(), id.as_str(), |tx| {
            let Some(session) = sessions::find(tx, &id)?.filter(|session| session.run_id == run) else { return Ok(()) };
            let is_stopping = session.activity == Activity::Stopping;
            // A launch that gave up says why itself.
            if session.status.is_final() || (is_stopping && session.status == SessionStatus::Starting) {
                return Ok(());
            }
            let (status, reason) = match code {
                _ if is_stopping => (SessionStatus::Ended, Some("stopped".to_owned())),
                0 => (SessionStatus::Ended, None),
                code => (SessionStatus::Failed, Some(format!("its program ended with exit code {code}"))),
            };
            finish(tx, &session, status, Some(i64::from(code)), reason.as_deref())?;
            Ok(())
        })
    };
    let mut last = None;
    let settled = poll_until::poll_until(STORE_TIMEOUT, Duration::from_millis(500), || match once() {
        Err(error) if is_transient(&error) => {
            last = Some(error);
            None
        }
        done => Some(done),
    });
    match (settled, last) {
        (Some(done), _) => done,
        (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}

fn is_transient(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref::<StoreError>(),
        Some(StoreError::Busy | StoreError::Full | StoreError::ReadOnly { .. })
    )
}
