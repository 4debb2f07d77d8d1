//! Stopping a session. Its whole process tree has ended before the session is recorded as ended.

use std::{io, time::Duration};

use anyhow::Result;

use super::stop_from_inside;
use crate::{
    actions::{
        Answer, App,
        core::{lookup, message_state},
        sessions::{
            adapter_endpoint,
            finish::{finish, status_verb},
        },
    },
    adapters::Tristate,
    domain::{
        Event, EventKind, SessionId, TaskId,
        message::MessageStatus,
        session::{self, Activity, Session, SessionStatus},
    },
    env::vars,
    os::{
        process::{self, ProcessKey},
        process_tree, session_leader,
    },
    store::{
        ReadTx, WriteTx, messages, sessions,
        tasks::{self, ListScope},
    },
    wire::SessionView,
};

/// The `activity_source` of a session that is being stopped.
pub const SOURCE: &str = session::STOP_SOURCE;

/// How long the remaining processes of an ended session may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Stops a session, also when it is called from inside the session. Of a session that has already ended, it ends the program that
/// is still running, if there is one. Claims of the session stay; notes name the tasks.
///
/// # Errors
/// `not_found`, `session_mismatch`; the `adapter_` codes, after which the session has its earlier status and activity.
pub fn stop(app: &App, id: &SessionId) -> Result<Answer> {
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
    if !session.status.is_final() {
        let adapter = adapter_endpoint::adapter(app, &session, &["session", "stop", id.as_str()])?;
        // The supervisor sees the program end first, and must not record that as a failure.
        let before = app.transaction(|tx| set_activity(tx, id, Activity::Stopping))?;
        if !adapter_endpoint::belongs_to_other(&adapter, &session)
            && let Err(error) = adapter.stop(adapter_endpoint::backend_name(&session))
        {
            app.transaction(|tx| set_activity(tx, id, before))?;
            return Err(error.into());
        }
    }
    // A final session may have a running program, when its end was recorded by hand.
    let left = if session.status.is_final() { end_remaining_program(app, &session)? } else { false };
    app.mutate(|tx| {
        let now = lookup::session(tx, id)?;
        if session.status.is_final() {
            let past = status_verb(session.status);
            let line = if left {
                format!("stopped the remaining program of {id}; the session has already {past}")
            } else {
                format!("unchanged: {id} has already {past}")
            };
            return Answer::new(&SessionView::from(&now), id, line);
        }
        let reason = format!("{}{}", session::STOP_REASON, app.actor.name);
        let ended = if now.status.is_final() {
            // The supervisor or a hook has recorded the end, which it cannot explain.
            let stopped = Session { reason: Some(reason), activity_source: Some(SOURCE.to_owned()), ..now };
            sessions::update(tx, &stopped)?;
            Session { version: stopped.version + 1, ..stopped }
        } else {
            finish(tx, &now, SessionStatus::Ended, None, Some(&reason))?
        };
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

/// Sets a session's activity. Returns the previous one.
fn set_activity(tx: &WriteTx<'_>, id: &SessionId, activity: Activity) -> Result<Activity> {
    let session = lookup::session(tx, id)?;
    let before = session.activity;
    if session.status.is_final() || before == activity {
        return Ok(before);
    }
    let source = Some(SOURCE.to_owned());
    let event = Event::new(EventKind::SessionActivity)
        .session(&session.id, &session.run_id)
        .lane(session.lane.as_ref())
        .with("activity", activity.as_str());
    sessions::update(tx, &Session { activity, activity_source: source, activity_at: Some(tx.now()), ..session })?;
    tx.record(&event)?;
    Ok(before)
}
