//! Export all tasks as documents.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    store::tasks::{self, ListScope},
    wire::TaskView,
};

/// Passes every task to `see`, ordered by id, from one snapshot.
pub fn export(app: &App, mut see: impl FnMut(&TaskView) -> Result<()>) -> Result<()> {
    app.read(|tx| {
        let mut failed = None;
        tasks::for_each(tx, ListScope::ById, |task| {
            let seen = lookup::not_ready_reasons(tx, &task).and_then(|waiting| see(&TaskView::new(&task, &waiting)));
            failed = seen.err();
            Ok(failed.is_none())
        })?;
        failed.map_or(Ok(()), Err)
    })
}
