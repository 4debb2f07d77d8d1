//! List reviews.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::TaskId,
    store::reviews,
    wire::ReviewView,
};

/// A task's reviews, requested and recorded, oldest first.
///
/// # Errors
/// `not_found`.
pub fn list(app: &App, task: &TaskId) -> Result<Vec<ReviewView>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        Ok(reviews::of_task(tx, task)?.iter().map(ReviewView::from).collect())
    })
}
