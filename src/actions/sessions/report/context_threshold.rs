//! A context that is nearly full: its session is asked once to hand over before it is compacted.

use anyhow::Result;
use serde_json::json;

use super::activity::record_activity_change;
use crate::{
    actions::{
        App,
        core::{keepalive, lookup},
        mail::send,
    },
    domain::{
        TaskId,
        message::{Priority, Recipient},
        session::Session,
    },
    store::{ReadTx, WriteTx, messages, session_reports, tasks},
};

/// Where these prompts say they come from.
pub const SOURCE: &str = "context";

/// Notes how full a session's context is. Once it is nearly full, one system prompt asks it to record where it stands and to
/// hand over; the next one comes only after it has been emptier. Says whether it was asked now.
///
/// # Errors
/// `session_final`; as the store fails.
pub fn report_context_usage(app: &App, tx: &WriteTx<'_>, session: &Session, share: f64) -> Result<bool> {
    session.check_open()?;
    let now = lookup::session(tx, &session.id)?;
    let after = Session { context_usage: Some(share), ..now.clone() };
    if now.context_usage.map(f64::to_bits) != Some(share.to_bits()) {
        keepalive::update_session(tx, &after)?;
        record_activity_change(tx, &now, &after)?;
    }
    check(app, tx, &after, share)
}

/// Queues one system prompt when the context has become nearly full, and forgets about it when it is not any more. Says
/// whether one was queued.
///
/// # Errors
/// As the store fails.
pub(in crate::actions) fn check(app: &App, tx: &WriteTx<'_>, session: &Session, share: f64) -> Result<bool> {
    let known = session_reports::find(tx, &session.id)?.context_full_since;
    match (share >= app.settings.agents.context_threshold, known) {
        (true, None) => {
            session_reports::set_context_full_since(tx, &session.id, Some(tx.now()))?;
            // One that was not read yet says it still.
            if has_pending_request(tx, session)? {
                return Ok(false);
            }
            let key = format!("{SOURCE} {} {}", session.run_id, tx.now().millis());
            let held = tasks::last_claimed_by(tx, session.id.as_str())?.map(|(task, _)| task);
            let words = request_text(share, held.as_ref().or(session.task.as_ref()));
            let metadata = json!({ "from": "fairway", "context_usage": share });
            send::send_system(tx, &session.id, (SOURCE, Priority::System), words, &metadata, &key)
        }
        (false, Some(_)) => {
            session_reports::set_context_full_since(tx, &session.id, None)?;
            Ok(false)
        }
        _ => Ok(false),
    }
}

fn has_pending_request(tx: &ReadTx<'_>, session: &Session) -> Result<bool> {
    let unsettled = messages::open_for(tx, &Recipient::Session(session.id.clone()))?;
    Ok(unsettled.iter().any(|message| message.source == SOURCE && message.priority == Priority::System))
}

fn request_text(share: f64, task: Option<&TaskId>) -> String {
    let task = task.map_or("ID", TaskId::as_str);
    format!(
        "your context is {:.0} % full. Before it is compacted, record where you stand and what comes next:\n\
         fairway checkpoint record {task} --state active --summary \"...\"\n\
         Then finish what is nearly done, or hand the rest over:\n\
         fairway handoff create {task} --to ROLE --summary \"...\"",
        share * 100.0
    )
}
