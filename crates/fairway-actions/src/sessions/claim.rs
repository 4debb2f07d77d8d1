//! Claiming a task for a session. Claims of dead sessions of its lane are continued.

use anyhow::Result;

use super::liveness::dead;
use crate::core::dead_session::DeadSession;
use crate::queue::task::claim::{self, ClaimRequest};
use crate::{Answer, App};
use fairway_core::domain::Refusal;

/// How often a claim is tried while the dead sessions' rows change: their supervisors may still record their ends.
const MAX_ATTEMPTS: usize = 4;

/// Claims a task. Before that, outside of a transaction, it finds out which sessions with claims in the acting session's lane
/// are dead, because their claims may be continued.
pub fn claim(app: &App, request: &ClaimRequest) -> Result<Answer> {
    with_dead(app, || dead::predecessors(app, request.id.as_ref()), |dead| claim::claim(app, request, dead))
}

/// Calls `look`, which finds dead sessions, and passes them to `claim`. Repeats both, at most four times in all, when `claim` is
/// refused because the task is claimed or nothing is ready, and one of the dead sessions has changed since `look`.
pub(super) fn with_dead<T>(
    app: &App,
    look: impl Fn() -> Result<Vec<DeadSession>>,
    mut claim: impl FnMut(&[DeadSession]) -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        let dead = look()?;
        let done = claim(&dead);
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
