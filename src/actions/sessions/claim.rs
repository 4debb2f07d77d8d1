//! Claim a task for a session: what a dead session of its lane holds is continued.

use anyhow::Result;

use super::liveness::dead;
use crate::{
    actions::{
        Answer, App,
        core::dead_session::DeadSession,
        queue::task::claim::{self, ClaimRequest},
    },
    domain::Refusal,
};

/// How often a claim is tried while the dead sessions' rows change: their supervisors may still record their ends.
const MAX_ATTEMPTS: usize = 4;

/// Claims a task. Looks first, outside of a transaction, whether sessions of the acting session's lane that hold tasks are
/// dead.
///
/// # Errors
/// As [`claim::claim`].
pub fn claim(app: &App, request: &ClaimRequest) -> Result<Answer> {
    let mut attempt = 1;
    loop {
        let dead = dead::predecessors(app, request.id.as_ref())?;
        let done = claim::claim(app, request, &dead);
        if attempt == MAX_ATTEMPTS || !done.as_ref().is_err_and(may_be_outdated) || !has_changed(app, &dead)? {
            return done;
        }
        attempt += 1;
    }
}

fn may_be_outdated(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Refusal::AlreadyClaimed { .. } | Refusal::NothingReady { .. }))
}

/// Whether the row of one of the sessions has changed since the look.
fn has_changed(app: &App, dead: &[DeadSession]) -> Result<bool> {
    app.read(|tx| {
        for one in dead {
            if one.confirm(tx)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    })
}
