//! Approval requests as store rows: the pending requests that expire, and the events about a request.

use std::{fs, io, path::PathBuf};

use anyhow::Result;

use super::{app::App, other_host};
use crate::{
    domain::{
        Event, EventKind,
        approval::{Approval, ApprovalStatus, Offers},
        session::Session,
    },
    os::{files, lock::SharedLock},
    store::{
        ReadTx, WriteTx, approvals,
        events::{self, LoggedEvent},
        sessions,
    },
};

/// Marks that this process waits for the answer to an approval, until it is dropped or the process ends, however that ends.
#[derive(Debug)]
pub struct AwaitedAnswer {
    _lock: SharedLock,
    file: PathBuf,
}

impl AwaitedAnswer {
    pub(in crate::actions) fn begin(app: &App, id: i64) -> io::Result<Self> {
        let file = awaited_file(app, id);
        file.parent().map_or(Ok(()), files::private_dir)?;
        Ok(Self { _lock: SharedLock::acquire_waiting(&file)?, file })
    }
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        // Only to tidy up: the lock counts.
        let _ = fs::remove_file(&self.file);
    }
}

/// Beside the files of those who watch. No session's id has a colon.
fn awaited_file(app: &App, id: i64) -> PathBuf {
    app.project.runtime_dir().join("attended").join(format!("approval:{id}"))
}

/// The approval as it is now: it cannot be answered here once the process that waited for the answer has ended. On another host
/// that process cannot be seen.
pub fn as_now(app: &App, tx: &ReadTx<'_>, approval: Approval) -> Result<Approval> {
    if !approval.answerable || approval.status != ApprovalStatus::Pending {
        return Ok(approval);
    }
    let is_elsewhere = match sessions::find(tx, &approval.session)? {
        Some(session) => other_host::of_session(tx, &session)?.is_some(),
        None => false,
    };
    let is_awaited = || SharedLock::is_locked(&awaited_file(app, approval.id)).unwrap_or(true);
    Ok(Approval { answerable: is_elsewhere || is_awaited(), ..approval })
}

/// The pending approvals as they are now, oldest first.
pub fn pending(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Approval>> {
    approvals::all(tx, true)?.into_iter().map(|approval| as_now(app, tx, approval)).collect()
}

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
pub(in crate::actions) fn expire_unanswerable(app: &App, tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    for approval in approvals::pending_of(tx, &session.id)? {
        let approval = as_now(app, tx, approval)?;
        if !approval.answerable {
            expire(tx, approval, WENT_ON)?;
        }
    }
    Ok(())
}

const WENT_ON: &str = "the session went on";

fn expire(tx: &WriteTx<'_>, approval: Approval, why: &str) -> Result<()> {
    let approval = approvals::resolve(tx, approval, ApprovalStatus::Lapsed, Some(why))?;
    tx.record(&event(EventKind::ApprovalLapsed, &approval).with("reason", why))?;
    Ok(())
}

/// A field of a request's input: the agent's own option to allow further calls, with the agent's text for it; in the event of the
/// request, whether there is one.
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

/// A field of the event of a request of a structured agent: whether it takes a yes for the call alone.
const ONCE: &str = "once";

/// Adds the offers of a structured agent to the event of its request.
pub(in crate::actions) fn with_offers(event: Event, offers: Offers) -> Event {
    event.with(ONCE, offers.once).with(ALWAYS_FIELD, offers.always)
}

/// Which answers that allow the asking agent takes. A hook takes one for the call.
pub(in crate::actions) fn offers(tx: &ReadTx<'_>, approval: &Approval) -> Result<Offers> {
    let is_request = |kind| kind == EventKind::ApprovalAsked;
    let is_meant = |event: &LoggedEvent| event.data["id"] == approval.id;
    let asked = events::newest_of_session_matching(tx, &approval.session, is_request, is_meant)?;
    let asked = asked.filter(|event| event.data[ONCE].is_boolean());
    Ok(asked.map_or(Offers::ONCE, |event| Offers {
        once: event.data[ONCE] == true,
        always: event.data[ALWAYS_FIELD] == true,
    }))
}

pub(in crate::actions) fn event(kind: EventKind, approval: &Approval) -> Event {
    Event::new(kind)
        .session(&approval.session, &approval.run_id)
        .with("id", approval.id)
        .with("provider", approval.provider.as_str())
        .with("tool", approval.tool.as_str())
}
