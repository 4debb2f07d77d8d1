//! A note: an active checkpoint on the task that the caller has claimed.

use anyhow::Result;

use super::record::{self, NewCheckpoint};
use crate::{
    actions::{Answer, App, queue::task::claimed},
    domain::{TaskId, checkpoint::CheckpointState},
};

/// Records a checkpoint in the state `active` on `task`, else on the only task that the caller has claimed.
///
/// # Errors
/// `nothing_claimed`, `ambiguous` for several claimed tasks; those of [`record::record`].
pub fn note(app: &App, text: &str, task: Option<&TaskId>, artifact: Option<String>) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let task = claimed::named_or_only(app, task.cloned(), "fairway note TEXT --task")?;
    let state = CheckpointState::Active;
    record::record(app, &task, NewCheckpoint { state, summary: text.to_owned(), owner: None, artifact, due: None })
}
