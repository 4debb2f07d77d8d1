//! `note`: a checkpoint on the claimed task.

use anyhow::Result;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::{
    arguments,
    tool::{Effect, Outcome, Tool, ToolCall},
};
use crate::{actions::queue::checkpoint::note, domain::TaskId, mcp::reply::Reply};

pub(super) const TOOL: Tool = Tool {
    name: "note",
    title: "Record progress",
    description: "Record a checkpoint on your claimed task: the state of the work in one line, for the person who looks and the \
                  agent that may continue it. The answer brings waiting messages.",
    schema: arguments::schema::<Arguments>,
    effect: Effect::Adds,
    call,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Arguments {
    /// The state of the work and the next step, in one line.
    text: String,
    /// Task id; default: your claimed task.
    task: Option<String>,
    /// Path of a file that belongs to it.
    artifact: Option<String>,
}

fn call(call: &ToolCall<'_>) -> Result<Outcome> {
    call.session(TOOL.name)?;
    let asked: Arguments = arguments::read(&call.arguments)?;
    let task = asked.task.as_deref().map(TaskId::parse).transpose()?;
    Ok(Reply::of_answer(note::note(call.app, asked.text.trim_end(), task.as_ref(), asked.artifact)?).into())
}
