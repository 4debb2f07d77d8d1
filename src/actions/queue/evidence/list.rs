//! List evidence.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::TaskId,
    store::evidence,
    wire::EvidenceView,
};

/// A task's evidence, oldest first.
///
/// # Errors
/// `not_found`.
pub fn list(app: &App, task: &TaskId) -> Result<Vec<EvidenceView>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        Ok(evidence::of_task(tx, task)?.iter().map(EvidenceView::from).collect())
    })
}
