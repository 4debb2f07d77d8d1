//! Approval requests as store rows: the pending requests that expire, and the events about a request.

use anyhow::Result;

use crate::{
    domain::{
        Event, EventKind,
        approval::{Approval, ApprovalStatus},
        session::Session,
    },
    store::{
        ReadTx, WriteTx, approvals,
        events::{self, LoggedEvent},
    },
};

/// Expires a session's pending approval requests; with `tool`, only those for that tool. Call it when the tool has run, or when
/// the turn or the session ends: the provider does not wait for an answer any more.
pub fn expire_pending(tx: &WriteTx<'_>, session: &Session, tool: Option<&str>) -> Result<()> {
    for approval in approvals::pending_of(tx, &session.id)? {
        if tool.is_some_and(|tool| tool != approval.tool) {
            continue;
        }
        let why = match tool {
            Some(_) => "the tool was used",
            None if session.status.is_final() => "the session is over",
            None => WENT_ON,
        };
        expire(tx, approval, why)?;
    }
    Ok(())
}

/// Expires a session's pending approval requests that Fairway cannot answer, because no hook waits for the answer. Call it when a
/// new turn begins: a person has then answered in the agent's window.
pub(in crate::actions) fn expire_unanswerable(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    for approval in approvals::pending_of(tx, &session.id)?.into_iter().filter(|approval| !approval.answerable) {
        expire(tx, approval, WENT_ON)?;
    }
    Ok(())
}

const WENT_ON: &str = "the session went on";

fn expire(tx: &WriteTx<'_>, approval: Approval, why: &str) -> Result<()> {
    let approval = approvals::resolve(tx, approval, ApprovalStatus::Lapsed, Some(why))?;
    tx.record(&event(EventKind::ApprovalLapsed, &approval).with("reason", why))?;
    Ok(())
}

/// A field of a request's input: the agent's own option to allow further calls, with the agent's text for it.
pub const ALWAYS_FIELD: &str = "always";

/// A field of the event of an answer: whether the answer also holds for further calls.
pub(in crate::actions) const LASTS: &str = "always";

/// Whether the answer to an approval request also holds for further calls; `false` while there is no answer.
pub(in crate::actions) fn lasts(tx: &ReadTx<'_>, approval: &Approval) -> Result<bool> {
    let is_answer = |kind| kind == EventKind::ApprovalAnswered;
    let is_meant = |event: &LoggedEvent| event.data["id"] == approval.id;
    let answered = events::newest_of_session_matching(tx, &approval.session, is_answer, is_meant)?;
    Ok(answered.is_some_and(|event| event.data[LASTS] == true))
}

pub(in crate::actions) fn event(kind: EventKind, approval: &Approval) -> Event {
    Event::new(kind)
        .session(&approval.session, &approval.run_id)
        .with("id", approval.id)
        .with("provider", approval.provider.as_str())
        .with("tool", approval.tool.as_str())
}
