//! List evidence.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{TaskId, evidence::Evidence},
    store::evidence,
};

/// A task's evidence, oldest first.
///
/// # Errors
/// `not_found`.
pub fn list(app: &App, task: &TaskId) -> Result<Vec<Evidence>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        Ok(evidence::of_task(tx, task)?)
    })
}
