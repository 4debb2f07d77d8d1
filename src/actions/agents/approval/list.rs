//! Lists approvals.

use anyhow::Result;

use crate::{actions::App, store::approvals, wire::ApprovalView};

/// The pending approvals, or all of them, oldest first.
pub fn list(app: &App, all: bool) -> Result<Vec<ApprovalView>> {
    app.read(|tx| Ok(approvals::all(tx, !all)?.iter().map(ApprovalView::from).collect()))
}
