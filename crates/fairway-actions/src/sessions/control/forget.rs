//! Giving up a session of a host or container that is gone. Fairway can neither stop its program nor prove that it has ended.
//! It accepts the caller's word once the host has been silent for long enough.

use anyhow::Result;

use super::stop::claimed_tasks;
use crate::core::{ForceReason, inside_session, lookup, message_state, session_process};
use crate::sessions::give_up::give_up;
use crate::{Answer, App};
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::wire::SessionView;

/// Records a session of another host or container as failed, for the reason `why`. Its claims stay; notes name the tasks. A final
/// session stays unchanged.
///
/// # Errors
/// `not_found`; `session_alive` for a session of this host, which can be stopped; `host_alive` without `force` while its host
/// still reports; `inside_session`, `not_confirmed`.
pub fn forget(app: &App, id: &SessionId, why: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    inside_session::refuse(app, "session forget")?;
    app.mutate(|tx| {
        let session = lookup::session(tx, id)?;
        if session.status.is_final() {
            let line = format!("unchanged: {id} has already {}", session.status);
            return Answer::new(&SessionView::from(&session), id, line);
        }
        if session_process::is_local(&session) {
            let why = "it is a session of this host".to_owned();
            let is_launched = session.adapter_script.is_some();
            return Err(Refusal::SessionAlive { session: id.clone(), why, is_launched }.into());
        }
        let unread = message_state::unread_of(tx, id)?;
        let given_up = give_up(app, tx, &session, why, force.is_some())?;
        let answer = Answer::new(&SessionView::from(&given_up), id, format!("gave up {id}"))?;
        let answer = answer.with_notes(message_state::undelivered_note(&unread));
        Ok(claimed_tasks(tx, id)?.iter().fold(answer, |answer, task| {
            let release = format!("fairway release {task} --force --reason TEXT");
            answer.note(format!("{task} is still claimed by {id}; to release it: {release}"))
        }))
    })
}
