//! Reopen a closed task.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{Answer, App},
    domain::{EventKind, TaskId, rules::fencing::TaskWrite},
    store::landings,
};

/// done, cancelled → todo, by any actor, with a reason.
///
/// # Errors
/// `wrong_state`.
pub fn reopen(app: &App, id: &TaskId, reason: &str) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskReopened,
        intent: TaskWrite::Override,
        past_tense: "reopened",
        reason: Some(reason),
        force: None,
    };
    transition::perform(app, id, &verb, |tx, task, _| {
        landings::set_landed_commit(tx, id, None)?;
        Ok(task.reopened()?)
    })
}
