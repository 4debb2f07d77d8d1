//! Releasing the claims of dead sessions.

use anyhow::Result;

use super::liveness::dead;
use crate::core::inside_session;
use crate::queue::task::release;
use crate::{Answer, App};
use fairway_core::domain::session::SessionStatus;
use fairway_core::domain::{LaneName, TaskId};
use fairway_core::store::{ReadTx, claims};

/// Releases the claims of sessions that are proven dead: those of a lane, those on `tasks`, or all. For persons: it is refused
/// inside a session. The claims of a session of which something may be alive stay. A note says why when it is stale or has ended,
/// or holds one of `tasks`.
///
/// # Errors
/// `inside_session`, `not_confirmed`; `not_found` for an unknown lane.
pub fn release_dead(app: &App, lane: Option<&LaneName>, tasks: &[TaskId], reason: Option<&str>) -> Result<Answer> {
    inside_session::refuse(app, "release --dead")?;
    let named = |tx: &ReadTx<'_>| {
        let claimants = tasks.iter().map(|task| Ok(claims::claiming_sessions(tx, None, Some(task))?));
        Ok(claimants.collect::<Result<Vec<_>>>()?.concat())
    };
    let (named, mut dead, mut notes) = (app.read(named)?, Vec::new(), Vec::new());
    for (session, judged) in dead::judge_claimants(app, None, None)? {
        match judged {
            Ok(proof) => dead.push(proof),
            Err(why)
                if named.contains(&session.id)
                    || session.status.is_final()
                    || session.status == SessionStatus::Stale =>
            {
                notes.push(format!("the claims of {} ({}) stay: {why}", session.id, session.status));
            }
            Err(_) => {}
        }
    }
    let mut answer = release::release_dead(app, &dead, lane, tasks, reason)?;
    answer.notes.extend(notes);
    Ok(answer)
}
