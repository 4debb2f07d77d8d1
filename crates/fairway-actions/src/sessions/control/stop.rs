//! Stopping a session. Its whole process tree has ended before the session is recorded as ended.

use std::io;
use std::time::Duration;

use anyhow::Result;

use super::stop_from_inside;
use crate::core::{lookup, message_state, session_events};
use crate::sessions::adapter_endpoint;
use crate::{Answer, App};
use fairway_core::adapters::Tristate;
use fairway_core::domain::message::MessageStatus;
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::env::vars;
use fairway_core::os::process::{self, ProcessKey};
use fairway_core::os::{process_tree, session_leader};
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, messages};
use fairway_core::wire::SessionView;

/// How long the remaining processes of an ended session may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Stops a session, also when it is called from inside the session. Of a session that has already ended, it ends the program that
/// is still running, if there is one. Claims of the session stay; notes name the tasks.
///
/// # Errors
/// `not_found`, `session_mismatch`; the `adapter_` codes, after which the session has its earlier status and activity.
pub fn stop(app: &App, id: &SessionId) -> Result<Answer> {
    stop_by(app, id, &app.actor.name)
}

/// Like [`stop`], with the name of what ends the session.
///
/// # Errors
/// Those of [`stop`].
pub fn stop_by(app: &App, id: &SessionId, by: &str) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let session = app.read(|tx| lookup::session(tx, id))?;
    if stop_from_inside::is_outside_helper(&app.env) {
        // Leave the process group and terminal of the caller: they are about to end.
        session_leader::setsid();
    } else if stop_from_inside::is_inside(&app.env, &session) {
        return stop_from_inside::stop_through_helper(app, &session);
    }
    let waiting = app.read(|tx| message_state::unread_of(tx, id))?;
    let is_stopped = !session.status.is_final() && begin(app, &session, by)?;
    // A final session may have a running program, when its end was recorded by hand.
    let left = !is_stopped && end_remaining_program(app, &session)?;
    app.mutate(|tx| {
        let now = lookup::session(tx, id)?;
        if !is_stopped {
            let past = now.status;
            let line = if left {
                format!("stopped the remaining program of {id}; the session has already {past}")
            } else {
                format!("unchanged: {id} has already {past}")
            };
            return Answer::new(&SessionView::from(&now), id, line);
        }
        // Its supervisor or a hook may have recorded the end.
        let ended =
            if now.status.is_final() { now } else { session_events::end(tx, &now, SessionStatus::Ended, None, None)? };
        let answer = Answer::new(&SessionView::from(&ended), id, format!("stopped {id}"))?;
        // They have expired with the session, also when its supervisor has recorded the end.
        let mut expired = Vec::new();
        for prompt in &waiting {
            let now = messages::find(tx, *prompt)?;
            if now.is_some_and(|message| message.status == MessageStatus::Expired) {
                expired.push(*prompt);
            }
        }
        let answer = answer.with_notes(message_state::undelivered_note(&expired));
        Ok(claimed_tasks(tx, id)?.iter().fold(answer, |answer, task| {
            let release = format!("fairway release {task} --force --reason TEXT");
            answer.note(format!("{task} is still claimed by {id}; to release it: {release}"))
        }))
    })
}

pub(super) fn claimed_tasks(tx: &ReadTx<'_>, id: &SessionId) -> Result<Vec<TaskId>> {
    let mut claimed = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        if task.state.claim().is_some_and(|claim| claim.session.as_ref() == Some(id)) {
            claimed.push(task.id);
        }
        Ok(true)
    })?;
    Ok(claimed)
}

/// Ends programs of a final session that still run and certainly belong to its session run: the backend knows them, or they
/// have the run's environment tag, as after the death of the process that the backend knows. Returns whether there were any.
fn end_remaining_program(app: &App, session: &Session) -> Result<bool> {
    let tag = format!("{}={}", vars::FAIRWAY_RUN_ID, session.run_id);
    let name = adapter_endpoint::backend_name(session);
    let mut found = false;
    if let Ok(adapter) = adapter_endpoint::adapter(app, session, &["session", "stop", session.id.as_str()])
        && adapter.matches_session_run(name, &session.run_id) == Some(true)
        && adapter.is_running(name) == Tristate::Yes
    {
        adapter.stop(name)?;
        found = true;
    }
    // Not this command and the processes around it, when it is called inside of that session.
    let own = std::process::id();
    let is_other =
        |key: &ProcessKey| u32::try_from(key.pid).is_ok_and(|pid| pid != own) && !process::is_own_ancestor(key);
    let tagged = || {
        let mut keys = process_tree::with_env_entry(&tag)?;
        keys.retain(is_other);
        Ok::<_, io::Error>(keys)
    };
    if tagged()?.is_empty() {
        return Ok(found);
    }
    let left = process_tree::terminate(GRACE, tagged)?;
    if left.is_empty() {
        return Ok(true);
    }
    let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
    Err(io::Error::other(format!("cannot end the remaining processes of {}: {}", session.id, pids.join(" "))).into())
}

/// Records that the session is being stopped, and by whom, so that the record of its end can say so. Then ends its processes.
/// Returns whether it was stopped: it may have ended meanwhile.
///
/// # Errors
/// The `adapter_` codes, after which the session has its earlier activity.
fn begin(app: &App, session: &Session, by: &str) -> Result<bool> {
    let id = &session.id;
    let adapter = adapter_endpoint::adapter(app, session, &["session", "stop", id.as_str()])?;
    let before = app.transaction(|tx| {
        let before = lookup::session(tx, id)?;
        if before.status.is_final() {
            return Ok(None);
        }
        session_events::apply(tx, &before, &SessionEvent::StopBegan { by })?;
        Ok(Some(before))
    })?;
    let Some(before) = before else { return Ok(false) };
    if !adapter_endpoint::belongs_to_other(&adapter, session)
        && let Err(error) = adapter.stop(adapter_endpoint::backend_name(session))
    {
        app.transaction(|tx| {
            session_events::apply(tx, &lookup::session(tx, id)?, &SessionEvent::StopFailed { before: &before })
        })?;
        return Err(error.into());
    }
    Ok(true)
}
