//! Going on with a store whose last records are gone.

use anyhow::Result;

use crate::{
    actions::App,
    domain::{
        finding::{Finding, Severity},
        plural,
    },
    store::backup,
};

/// Accepts the loss of records, if there is one; the finding says how many are gone.
pub fn accept(app: &App) -> Result<Vec<Finding>> {
    let project = &app.project;
    let Some(outside) = project.outside_dir() else { return Ok(Vec::new()) };
    let (now, actor) = (app.env.now(), &app.actor.name);
    let accepted = backup::accept_loss(&project.store, &project.runtime_dir(), &outside, now, actor)?;
    let finding = accepted.map(|(loss, epoch)| {
        let message = format!(
            "the loss of {} is accepted; claims now have epoch {epoch}, older epochs are invalid",
            plural::count(loss.known_event - loss.found_event, "event")
        );
        Finding::new("repaired", Severity::Note, message)
    });
    Ok(finding.into_iter().collect())
}
