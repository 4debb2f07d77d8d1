//! A note: an active checkpoint on the task that the caller has claimed.

use anyhow::Result;

use super::record::{self, NewCheckpoint};
use crate::{
    actions::{Answer, App},
    domain::{Refusal, TaskId, checkpoint::CheckpointState},
    store::overview,
};

/// Records a checkpoint in the state `active` on `task`, else on the only task that the caller has claimed.
///
/// # Errors
/// `nothing_claimed`, `ambiguous` for several claimed tasks; those of [`record::record`].
pub fn note(app: &App, text: &str, task: Option<&TaskId>, artifact: Option<String>) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let task = match task {
        Some(task) => task.clone(),
        None => claimed_task(app)?,
    };
    let state = CheckpointState::Active;
    record::record(app, &task, NewCheckpoint { state, summary: text.to_owned(), owner: None, artifact, due: None })
}

fn claimed_task(app: &App) -> Result<TaskId> {
    let held = app.read(|tx| Ok(overview::held(tx)?))?;
    let mut tasks: Vec<TaskId> =
        held.into_iter().filter(|held| app.actor.is_named(&held.claimant)).map(|held| held.task).collect();
    match (tasks.pop(), tasks.is_empty()) {
        (Some(task), true) => Ok(task),
        (Some(last), false) => {
            tasks.push(last);
            Err(Refusal::SeveralClaimed { tasks, command: "fairway note TEXT" }.into())
        }
        (None, _) => Err(Refusal::NothingClaimed { you: app.actor.name.clone() }.into()),
    }
}
