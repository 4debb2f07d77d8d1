//! Approval requests as store rows: the pending requests that expire, and the events about a request.

use anyhow::Result;

use fairway_core::domain::approval::{Approval, ApprovalStatus, Offers};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind};
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{ReadTx, WriteTx, approvals};

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

pub(super) const WENT_ON: &str = "the session went on";

pub(super) fn expire(tx: &WriteTx<'_>, approval: Approval, why: &str) -> Result<()> {
    let approval = approvals::resolve(tx, approval, ApprovalStatus::Lapsed, Some(why))?;
    tx.record(&event(EventKind::ApprovalLapsed, &approval).with("reason", why))?;
    Ok(())
}

/// A field of a request's input: the agent's own option to allow further calls, with the agent's text for it; in the event of the
/// request, whether there is one.
pub const ALWAYS_FIELD: &str = "always";

/// A field of the event of an answer: whether the answer also holds for further calls.
pub(crate) const LASTS: &str = "always";

/// Whether the answer to an approval request also holds for further calls; `false` while there is no answer.
pub(crate) fn lasts(tx: &ReadTx<'_>, approval: &Approval) -> Result<bool> {
    let is_answer = |kind| kind == EventKind::ApprovalAnswered;
    let is_meant = |event: &LoggedEvent| event.data["id"] == approval.id;
    let answered = events::newest_of_session_matching(tx, &approval.session, is_answer, is_meant)?;
    Ok(answered.is_some_and(|event| event.data[LASTS] == true))
}

/// A field of the event of a request of a structured agent: whether it takes a yes for the call alone.
const ONCE: &str = "once";

/// Adds the offers of a structured agent to the event of its request.
pub(crate) fn with_offers(event: Event, offers: Offers) -> Event {
    event.with(ONCE, offers.once).with(ALWAYS_FIELD, offers.always)
}

/// Which answers that allow the asking agent takes. A hook takes one for the call.
pub(crate) fn offers(tx: &ReadTx<'_>, approval: &Approval) -> Result<Offers> {
    let is_request = |kind| kind == EventKind::ApprovalAsked;
    let is_meant = |event: &LoggedEvent| event.data["id"] == approval.id;
    let asked = events::newest_of_session_matching(tx, &approval.session, is_request, is_meant)?;
    let asked = asked.filter(|event| event.data[ONCE].is_boolean());
    Ok(asked.map_or(Offers::ONCE, |event| Offers {
        once: event.data[ONCE] == true,
        always: event.data[ALWAYS_FIELD] == true,
    }))
}

pub(crate) fn event(kind: EventKind, approval: &Approval) -> Event {
    Event::new(kind)
        .session(&approval.session, &approval.run_id)
        .with("id", approval.id)
        .with("provider", approval.provider.as_str())
        .with("tool", approval.tool.as_str())
}
