//! Waits for the answer to an approval, for the hook that returns it to the provider.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::common::{find, mark_busy};
use crate::{
    actions::{
        App,
        core::{attendance, errors},
        sessions::control::running_session::RunningSession,
    },
    domain::{
        approval::{Approval, ApprovalStatus},
        session::Session,
    },
    store::approvals,
};

/// How long a permission request waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalWait {
    /// Always; zero waits never.
    pub usual: Duration,
    /// While a person watches, or no terminal is attached to the session. No more than the provider lets its hook run.
    pub longest: Duration,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// Whether the tool may be used.
    pub allow: bool,
    /// The reason, if given.
    pub reason: Option<String>,
}

impl ApprovalDecision {
    fn from_approval(approval: &Approval) -> Option<Self> {
        match approval.status {
            ApprovalStatus::Allowed => Some(Self { allow: true, reason: approval.reason.clone() }),
            ApprovalStatus::Denied => Some(Self { allow: false, reason: approval.reason.clone() }),
            ApprovalStatus::Pending | ApprovalStatus::Lapsed => None,
        }
    }
}

/// Waits until an approval is answered, at most for `limit`. `None` when it expired or was not answered in time: then the
/// provider asks the person itself, and a later answer is refused. A session that gets an answer becomes busy.
///
/// # Errors
/// `not_found`; store errors.
pub fn wait(app: &App, id: i64, limit: Duration) -> Result<Option<ApprovalDecision>> {
    wait_while(app, id, ApprovalWait { usual: limit, longest: Duration::ZERO }, || false)
}

/// As [`wait`], but the longer time while a person watches, or while no terminal is attached to the session. An `attach`
/// ends it: the person is at the agent's window then.
///
/// # Errors
/// `not_found`; store errors.
pub fn wait_for_person(app: &App, session: &Session, id: i64, wait: ApprovalWait) -> Result<Option<ApprovalDecision>> {
    // Asks the backend: only once, and only after the usual time.
    let mut has_terminal = None;
    let mut is_woken_at_end = false;
    wait_while(app, id, wait, || {
        if attendance::is_attached(app, &session.id) {
            return false;
        }
        if attendance::is_watched(app) {
            if !is_woken_at_end {
                attendance::wake_when_unwatched(app);
                is_woken_at_end = true;
            }
            return true;
        }
        is_woken_at_end = false;
        !*has_terminal.get_or_insert_with(|| has_terminal_attached(app, session))
    })
}

/// Whether a terminal is attached to the session. Without a backend, or without an answer of it, the session counts as a
/// program in a person's terminal.
fn has_terminal_attached(app: &App, session: &Session) -> bool {
    if session.adapter_script.is_none() {
        return true;
    }
    let asked = RunningSession::find(app, &session.id).ok();
    asked.and_then(|live| live.adapter.is_attached(live.backend_name()).ok()).unwrap_or(true)
}

fn wait_while(
    app: &App,
    id: i64,
    wait: ApprovalWait,
    mut is_worth_waiting: impl FnMut() -> bool,
) -> Result<Option<ApprovalDecision>> {
    let waiter = app.waiter("approval")?;
    let start = Instant::now();
    loop {
        let approval = app.read(|tx| find(tx, id))?;
        if approval.status != ApprovalStatus::Pending {
            break;
        }
        let waited = start.elapsed();
        let limit = if waited < wait.usual {
            wait.usual
        } else if !wait.usual.is_zero() && waited < wait.longest && is_worth_waiting() {
            wait.longest
        } else {
            break;
        };
        waiter.wait(Some(limit.saturating_sub(start.elapsed()))).map_err(errors::internal)?;
    }
    // An answer up to here is returned; a later one is refused.
    app.transaction(|tx| {
        let approval = find(tx, id)?;
        match approval.status {
            ApprovalStatus::Pending => approvals::mark_unanswerable(tx, id)?,
            ApprovalStatus::Allowed | ApprovalStatus::Denied => mark_busy(tx, &approval)?,
            ApprovalStatus::Lapsed => {}
        }
        Ok(ApprovalDecision::from_approval(&approval))
    })
}
