//! Releasing the claims of dead sessions.

use anyhow::Result;

use super::liveness::dead;
use crate::{
    actions::{Answer, App, core::inside_session, queue::task::release},
    domain::{LaneName, TaskId, session::SessionStatus},
};

/// Releases the claims of sessions that are proven dead: those of a lane, those on `tasks`, or all. For persons: it is refused
/// inside a session. The claims of a session that is stale or has ended, but of which something may be alive, stay; a note says
/// why.
///
/// # Errors
/// `inside_session`, `not_confirmed`; `not_found` for an unknown lane.
pub fn release_dead(app: &App, lane: Option<&LaneName>, tasks: &[TaskId], reason: Option<&str>) -> Result<Answer> {
    inside_session::refuse(app, "release --dead")?;
    let (mut dead, mut notes) = (Vec::new(), Vec::new());
    for (session, judged) in dead::judge_claimants(app, None, None)? {
        match judged {
            Ok(proof) => dead.push(proof),
            Err(why) if session.status.is_final() || session.status == SessionStatus::Stale => {
                notes.push(format!("the claims of {} ({}) stay: {why}", session.id, session.status));
            }
            Err(_) => {}
        }
    }
    let mut answer = release::release_dead(app, &dead, lane, tasks, reason)?;
    answer.notes.extend(notes);
    Ok(answer)
}
