//! The task that a command works on when none is named: the one that the caller has claimed.

use anyhow::Result;

use crate::App;
use fairway_core::domain::{Refusal, TaskId};
use fairway_core::store::overview;

/// The tasks that the caller has claimed.
pub fn all(app: &App) -> Result<Vec<TaskId>> {
    let held = app.read(|tx| Ok(overview::held(tx)?))?;
    Ok(held.into_iter().filter(|held| app.actor.is_named(&held.claimant)).map(|held| held.task).collect())
}

/// Returns the named task, else the only task that the caller has claimed. `command` is the same command with a task's id, for
/// the hint.
///
/// # Errors
/// `nothing_claimed`; `ambiguous` for several claimed tasks.
pub fn named_or_only(app: &App, named: Option<TaskId>, command: impl Fn(&TaskId) -> String) -> Result<TaskId> {
    if let Some(named) = named {
        return Ok(named);
    }
    let tasks = all(app)?;
    match &*tasks {
        [task] => Ok(task.clone()),
        [first, ..] => Err(Refusal::SeveralClaimed { command: command(first), tasks }.into()),
        [] => Err(Refusal::NothingClaimed { you: app.actor.name.clone() }.into()),
    }
}
