//! Watching permission requests: each new one, and each one that is closed.

use std::{
    collections::BTreeSet,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::common::find;
use crate::{
    actions::{
        App,
        core::{errors, server_outage::ServerOutage},
        sessions::attendance,
    },
    domain::approval::ApprovalStatus,
    store::approvals,
    wire::ApprovalView,
};

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
/// and outlasts an outage of its server: `warn` receives a sentence.
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
                let pending = approvals::all(tx, true)?;
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
