//! Waiting: a hook for the answer to its permission request, and a person for requests.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::request::{find, mark_busy};
use crate::App;
use crate::core::server_outage::ServerOutage;
use crate::core::{awaited_answer, errors};
use crate::sessions::attendance;
use fairway_core::domain::approval::{Approval, ApprovalStatus};
use fairway_core::domain::session::Session;
use fairway_core::os::exit_on_signal;
use fairway_core::store::approvals;
use fairway_core::wire::ApprovalView;

/// How often the backend is asked whether a terminal is attached: attaching with the multiplexer's own command notifies no
/// waiter.
const TERMINAL_PAUSE: Duration = Duration::from_secs(5);

/// How long a permission request waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalWait {
    /// How long every request waits; with zero none waits at all.
    pub usual: Duration,
    /// How long a request waits while a person watches or no terminal is attached to the session. The provider must let its hook
    /// run as long.
    pub longest: Duration,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    pub allow: bool,
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

/// Waits until an approval is answered, at most for `limit`. Returns `None` when it expired or was not answered in time: then the
/// provider asks the person itself, and a later answer is refused. A session that gets an answer becomes busy.
///
/// # Errors
/// `not_found`; store errors.
pub fn wait(app: &App, id: i64, limit: Duration) -> Result<Option<ApprovalDecision>> {
    wait_while(app, id, ApprovalWait { usual: limit, longest: Duration::ZERO }, || None)
}

/// Like [`wait`], for `wait.usual`; but for `wait.longest` while a person watches the approvals or no terminal is attached to
/// the session. The wait ends when a terminal is attached, because the person then sees the agent's own question.
///
/// # Errors
/// `not_found`; store errors.
pub fn wait_for_person(app: &App, session: &Session, id: i64, wait: ApprovalWait) -> Result<Option<ApprovalDecision>> {
    // When the backend was asked last, and found no terminal.
    let mut asked_at: Option<Instant> = None;
    let mut is_woken_at_end = false;
    wait_while(app, id, wait, || {
        if attendance::is_attached(app, &session.id) {
            return None;
        }
        if attendance::is_watched(app) {
            if !is_woken_at_end {
                attendance::wake_when_unwatched(app);
                is_woken_at_end = true;
            }
            return Some(wait.longest);
        }
        is_woken_at_end = false;
        let asked = asked_at.map(|at| at.elapsed()).filter(|ago| *ago < TERMINAL_PAUSE);
        if asked.is_none() {
            if attendance::has_terminal(app, session) {
                return None;
            }
            asked_at = Some(Instant::now());
        }
        Some(TERMINAL_PAUSE.saturating_sub(asked.unwrap_or_default()))
    })
}

/// Waits for the usual time, and then for each span that `worth_waiting` returns, up to the longest time.
fn wait_while(
    app: &App,
    id: i64,
    wait: ApprovalWait,
    mut worth_waiting: impl FnMut() -> Option<Duration>,
) -> Result<Option<ApprovalDecision>> {
    let waiter = app.waiter("approval")?;
    // Warnings are dropped: text that the hook prints would reach the agent.
    let mut no_warning = |_: &str| ();
    let mut outage = ServerOutage::new(&mut no_warning);
    let start = Instant::now();
    let mut limit = wait.usual;
    loop {
        // An answer that was given during an outage is found afterwards.
        let approval = outage.outlast(&waiter, Some(start + limit), || app.read(|tx| find(tx, id)))?;
        if approval.status != ApprovalStatus::Pending || exit_on_signal::is_ending() {
            break;
        }
        let waited = start.elapsed();
        limit = if waited < wait.usual {
            wait.usual
        } else if !wait.usual.is_zero()
            && waited < wait.longest
            && let Some(span) = worth_waiting()
        {
            wait.longest.min(waited.saturating_add(span))
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

/// A change that a watcher sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalChange {
    /// A request waits for an answer.
    Asked(ApprovalView),
    /// A request that was seen before is answered or has expired.
    Closed(ApprovalView),
}

/// Calls `visit` with the pending requests, and then with each change, until `visit` breaks or `limit` is over. Meanwhile the
/// caller counts as a person who watches: requests wait longer for an answer. Waits for changes of the store, without polling,
/// and continues after an outage of its server, for which `warn` gets a message.
pub fn watch(
    app: &App,
    limit: Option<Duration>,
    warn: &mut dyn FnMut(&str),
    mut visit: impl FnMut(&ApprovalChange) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    let waiter = app.waiter("approvals")?;
    let _presence = attendance::watch_approvals(app).context("cannot register as a watcher")?;
    let mut seen = BTreeSet::new();
    let mut outage = ServerOutage::new(warn);
    loop {
        let look = || {
            app.read(|tx| {
                let pending = awaited_answer::pending(app, tx)?;
                let mut changes = Vec::new();
                for id in &seen {
                    if !pending.iter().any(|one| one.id == *id) {
                        let approval = find(tx, *id)?;
                        if approval.status != ApprovalStatus::Pending {
                            changes.push(ApprovalChange::Closed(ApprovalView::from(&approval)));
                        }
                    }
                }
                let new = pending.iter().filter(|one| !seen.contains(&one.id));
                changes.extend(new.map(|one| ApprovalChange::Asked(ApprovalView::from(one))));
                Ok(changes)
            })
        };
        let changes = outage.outlast(&waiter, deadline, look)?;
        for change in &changes {
            match change {
                ApprovalChange::Asked(one) => seen.insert(one.id),
                ApprovalChange::Closed(one) => seen.remove(&one.id),
            };
            if visit(change)?.is_break() {
                return Ok(());
            }
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
        waiter.wait(left).map_err(errors::internal)?;
    }
}
