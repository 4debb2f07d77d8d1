//! Release the claims of dead sessions.

use anyhow::Result;

use super::liveness::over;
use crate::{
    actions::{Answer, App, core::inside, queue::task::release},
    domain::{LaneName, session::SessionStatus},
};

/// Releases the claims of sessions that are proven to be over: those of a lane, or all. For persons. A claim whose session
/// has ended, but of which something may be alive, stays, with a note.
///
/// # Errors
/// `inside_session`; `not_found` for an unknown lane.
pub fn release_dead(app: &App, lane: Option<&LaneName>, reason: Option<&str>) -> Result<Answer> {
    inside::require_person(app, "release --dead")?;
    let (mut over, mut notes) = (Vec::new(), Vec::new());
    for (session, judged) in over::judge_holders(app, None, None)? {
        match judged {
            Ok(proof) => over.push(proof),
            Err(why) if session.status.is_final() || session.status == SessionStatus::Stale => {
                notes.push(format!("the claims of {} ({}) stay: {why}", session.id, session.status));
            }
            Err(_) => {}
        }
    }
    let mut answer = release::release_dead(app, &over, lane, reason)?;
    answer.notes.extend(notes);
    Ok(answer)
}
