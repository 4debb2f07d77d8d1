//! The context threshold: a session whose context is nearly full gets one prompt to hand over before it is compacted.

use anyhow::Result;
use serde_json::json;

use crate::core::{lookup, session_events};
use crate::mail::send;
use fairway_core::domain::TaskId;
use fairway_core::domain::message::{Priority, Recipient};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::Session;
use fairway_core::store::{ReadTx, WriteTx, messages, session_reports, tasks};

/// How full a context is when its session is asked to hand over, as a part of the whole.
pub const FULL_AT: f64 = 0.8;
/// The source of the prompts that ask for a handover.
pub const SOURCE: &str = "context";

/// Records a session's context usage. When it reaches the threshold, one system prompt asks the session to record a checkpoint
/// and to hand over; before another prompt the usage must drop below the threshold. Returns whether a prompt was queued.
///
/// # Errors
/// `session_final`.
pub fn report_context_usage(tx: &WriteTx<'_>, session: &Session, share: f64) -> Result<bool> {
    session.check_open()?;
    let now = lookup::session(tx, &session.id)?;
    let after = session_events::apply(tx, &now, &SessionEvent::ContextUsed(share))?;
    check(tx, &after, share)
}

/// Queues one system prompt when the usage reaches the threshold, and notes when it has dropped below again. Returns whether a
/// prompt was queued.
pub(crate) fn check(tx: &WriteTx<'_>, session: &Session, share: f64) -> Result<bool> {
    let known = session_reports::find(tx, &session.id)?.context_full_since;
    match (share >= FULL_AT, known) {
        (true, None) => {
            session_reports::set_context_full_since(tx, &session.id, Some(tx.now()))?;
            // An unread prompt of an earlier crossing is enough.
            if has_pending_request(tx, session)? {
                return Ok(false);
            }
            let key = format!("{SOURCE} {} {}", session.run_id, tx.now().millis());
            let held = tasks::last_claimed_by(tx, session.id.as_str())?.map(|(task, _)| task);
            let text = request_text(share, held.as_ref().or(session.task.as_ref()));
            let metadata = json!({ "from": "fairway", "context_usage": share });
            let to = Recipient::Session(session.id.clone());
            send::send_system(tx, &to, (SOURCE, Priority::System), text, &metadata, &key)
        }
        (false, Some(_)) => {
            session_reports::set_context_full_since(tx, &session.id, None)?;
            Ok(false)
        }
        _ => Ok(false),
    }
}

fn has_pending_request(tx: &ReadTx<'_>, session: &Session) -> Result<bool> {
    let open = messages::open_for(tx, &Recipient::Session(session.id.clone()))?;
    Ok(open.iter().any(|message| message.source == SOURCE && message.priority == Priority::System))
}

fn request_text(share: f64, task: Option<&TaskId>) -> String {
    let task = task.map_or("ID", TaskId::as_str);
    format!(
        "your context is {:.0} % full. Before it is compacted, record the current state and the next step:\n\
         fairway checkpoint record {task} --state active --summary \"...\"\n\
         Then finish what is nearly done, or hand the rest over:\n\
         fairway handoff create {task} --to ROLE --summary \"...\"",
        share * 100.0
    )
}
