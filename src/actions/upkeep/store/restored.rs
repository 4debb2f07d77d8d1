//! A store that was put back to an earlier state by other tools.

use anyhow::Result;

use crate::{
    actions::{Answer, App},
    domain::Refusal,
    store::backup,
    wire::StoreRestoredView,
};

/// Makes every epoch that was given out before invalid, and lifts the number of the newest event by a leap.
///
/// # Errors
/// `not_found` while there is no store; as the store fails.
pub fn restored(app: &App) -> Result<Answer> {
    let store = app.store_for_reading()?;
    if store.is_missing() {
        return Err(Refusal::not_found("store", app.project.store.display().to_string()).into());
    }
    let leap = backup::leap(store, app.env.now(), &app.actor.name)?;
    let document = StoreRestoredView { epoch: leap.epoch, event: leap.event };
    let line = format!("lifted: claims have epoch {}, and events go on at {}", leap.epoch, leap.event);
    let answer = Answer::new(&document, leap.epoch, line)?;
    Ok(answer.note("sessions that worked meanwhile are refused until they claim again; check them with `fairway session reconcile`"))
}
