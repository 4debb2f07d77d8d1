//! Records, finds, lists and withdraws permission requests.

use anyhow::Result;
use serde_json::Value;

use crate::App;
use crate::core::approval_state::{event, with_offers};
use crate::core::awaited_answer::{self, AwaitedAnswer};
use crate::core::{errors, lookup, session_events};
use fairway_core::domain::approval::{Approval, ApprovalStatus, Offers};
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::{ANSWER_SOURCE, APPROVAL_SOURCE, Activity, Session};
use fairway_core::domain::{EventKind, Refusal};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, WriteTx, approvals};
use fairway_core::wire::{ApprovalView, tool_input};

const MAX_INPUT_BYTES: usize = 8 * 1024;
const MAX_TOOL_NAME_BYTES: usize = 256;

/// Who waits here for the answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// The provider asks a person itself.
    Elsewhere,
    Hook,
    /// A structured agent, which takes these answers.
    Agent(Offers),
}

/// Records that a provider asks whether `tool` may be used with `input`, and sets the session to `requires_action`. Returns
/// the approval's id. `waits` says who waits for the answer, here.
///
/// # Errors
/// `session_final`, `invalid_value` for a tool without a name; store errors.
pub fn request(
    app: &App,
    session: &Session,
    provider: &str,
    tool: &str,
    input: &Value,
    waits: Waits,
) -> Result<(i64, Option<AwaitedAnswer>)> {
    let tool: String = tool.chars().filter(|character| !character.is_control()).collect();
    if tool.is_empty() || tool.len() > MAX_TOOL_NAME_BYTES {
        return Err(Refusal::invalid("tool", "name is empty or longer than 256 bytes").into());
    }
    let draft = Approval {
        id: 0,
        session: session.id.clone(),
        run_id: session.run_id.clone(),
        provider: provider.to_owned(),
        tool,
        input: tool_input::for_log(input, MAX_INPUT_BYTES),
        answerable: waits != Waits::Elsewhere,
        status: ApprovalStatus::Pending,
        reason: None,
        asked_at: Timestamp::from_millis(0),
        answered_at: None,
        answered_by: None,
    };
    app.transaction(|tx| {
        let now = lookup::session(tx, &session.id)?;
        now.check_open()?;
        now.check_run_id(Some(&session.run_id))?;
        let approval = approvals::insert(tx, draft)?;
        let asked = event(EventKind::ApprovalAsked, &approval).with("answerable", approval.answerable);
        tx.record(&if let Waits::Agent(offers) = waits { with_offers(asked, offers) } else { asked })?;
        set_activity(tx, &now, Activity::RequiresAction, Some(&describe(&approval)), APPROVAL_SOURCE)?;
        // Before anybody sees the request.
        let awaited = approval.answerable.then(|| AwaitedAnswer::begin(app, approval.id));
        Ok((approval.id, awaited.transpose().map_err(errors::internal)?))
    })
}

/// The approval as it is now.
pub(super) fn find_now(app: &App, tx: &ReadTx<'_>, id: i64) -> Result<Approval> {
    awaited_answer::as_now(app, tx, find(tx, id)?)
}

pub(super) fn find(tx: &ReadTx<'_>, id: i64) -> Result<Approval> {
    approvals::find(tx, id)?.ok_or_else(|| Refusal::not_found("approval", id.to_string()).into())
}

/// The `waiting_for` text of a session while the approval is pending.
pub(super) fn describe(approval: &Approval) -> String {
    let input = serde_json::from_str(&approval.input).unwrap_or_default();
    let about = tool_input::summary(&input);
    let colon = if about.is_empty() { "" } else { ": " };
    format!("permission: {}{colon}{about}", approval.tool)
}

/// Sets the session of an answered approval to busy, when an approval was the reason why it required action. While another
/// approval of the session is pending, the session waits for that one instead. Does nothing when the session has ended or has
/// a new run.
pub(super) fn mark_busy(tx: &WriteTx<'_>, approval: &Approval) -> Result<()> {
    let session = lookup::session(tx, &approval.session)?;
    let is_ours =
        session.activity == Activity::RequiresAction && session.activity_source.as_deref() == Some(APPROVAL_SOURCE);
    if session.status.is_final() || session.check_run_id(Some(&approval.run_id)).is_err() || !is_ours {
        return Ok(());
    }
    match approvals::pending_of(tx, &session.id)?.last() {
        Some(other) => set_activity(tx, &session, Activity::RequiresAction, Some(&describe(other)), APPROVAL_SOURCE),
        None => set_activity(tx, &session, Activity::Busy, None, APPROVAL_SOURCE),
    }
}

/// A request and its answer show that the session lives. They come without a report of the agent, which alone would prove that
/// typed text arrived.
fn set_activity(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<()> {
    session_events::apply(tx, session, &SessionEvent::Lives(Report::of(activity, waiting_for, source))).map(drop)
}

/// Sets a session to busy after a person has answered its question in its terminal. Does nothing while one of its approvals is
/// pending.
pub(super) fn mark_answered(tx: &WriteTx<'_>, approval: &Approval) -> Result<()> {
    let session = lookup::session(tx, &approval.session)?;
    let is_asking = session.activity == Activity::RequiresAction && approvals::pending_of(tx, &session.id)?.is_empty();
    if is_asking && !session.status.is_final() && session.check_run_id(Some(&approval.run_id)).is_ok() {
        set_activity(tx, &session, Activity::Busy, None, ANSWER_SOURCE)?;
    }
    Ok(())
}

/// The pending approvals, with `all` every approval, oldest first.
pub fn list(app: &App, all: bool) -> Result<Vec<ApprovalView>> {
    app.read(|tx| {
        let found = approvals::all(tx, !all)?.into_iter();
        found.map(|one| Ok(ApprovalView::from(&awaited_answer::as_now(app, tx, one)?))).collect()
    })
}

/// Expires a pending request because of `why`: `pending` → `lapsed`. An answered request stays as it is. The session becomes
/// busy when it waits for nothing else.
///
/// # Errors
/// `not_found`; store errors.
pub fn withdraw(app: &App, id: i64, why: &str) -> Result<()> {
    app.transaction(|tx| {
        let approval = find(tx, id)?;
        if approval.status != ApprovalStatus::Pending {
            return Ok(());
        }
        let approval = approvals::resolve(tx, approval, ApprovalStatus::Lapsed, Some(why))?;
        tx.record(&event(EventKind::ApprovalLapsed, &approval).with("reason", why))?;
        mark_busy(tx, &approval)
    })
}
