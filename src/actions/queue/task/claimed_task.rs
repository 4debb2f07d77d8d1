//! The task that a command works on when none is named: the one that the caller has claimed.

use anyhow::Result;

use crate::{
    actions::App,
    domain::{Refusal, TaskId},
    store::overview,
};

/// The tasks that the caller has claimed.
pub fn all(app: &App) -> Result<Vec<TaskId>> {
    let held = app.read(|tx| Ok(overview::held(tx)?))?;
    Ok(held.into_iter().filter(|held| app.actor.is_named(&held.claimant)).map(|held| held.task).collect())
}

/// Returns the named task, else the only task that the caller has claimed. `form` is the command up to the task's id, for the
/// hint.
///
/// # Errors
/// `nothing_claimed`; `ambiguous` for several claimed tasks.
pub fn named_or_only(app: &App, named: Option<TaskId>, form: &'static str) -> Result<TaskId> {
    if let Some(named) = named {
        return Ok(named);
    }
    let mut tasks = all(app)?;
    match (tasks.pop(), tasks.is_empty()) {
        (Some(task), true) => Ok(task),
        (Some(last), false) => {
            tasks.push(last);
            Err(Refusal::SeveralClaimed { tasks, command: form }.into())
        }
        (None, _) => Err(Refusal::NothingClaimed { you: app.actor.name.clone() }.into()),
    }
}
