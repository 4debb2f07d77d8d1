//! `note`: a checkpoint on the claimed task.

use anyhow::Result;

use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::queue::checkpoint;
use fairway_core::domain::TaskId;

tool! {
    name: "note",
    title: "Record progress",
    description: "Record a checkpoint on your claimed task: the state of the work in one line, for the person who looks and the \
                  agent that may continue it. The answer brings waiting messages.",
    effect: Adds,
    arguments: {
        /// The state of the work and the next step, in one line.
        text: String,
        /// Task id; default: your claimed task.
        task: Option<String>,
        /// Path of a file that belongs to it.
        artifact: Option<String>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    call.session(TOOL.name)?;
    let task = asked.task.as_deref().map(TaskId::parse).transpose()?;
    Ok(Reply::of_answer(checkpoint::note(call.app, asked.text.trim_end(), task.as_ref(), asked.artifact)?).into())
}
