//! `ask`: a question to a person. The answer to this call is a receipt; the person's comes by `inbox`.

use anyhow::Result;

use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::queue::checkpoint::{self, NewCheckpoint};
use fairway_core::domain::checkpoint::CheckpointState;

/// The owner of the next step while the question is open.
const OWNER: &str = "person";

tool! {
    name: "ask",
    title: "Ask a person",
    description: "Put a question, or a request for approval, to a person. It stands on their board until you record the next note. \
                  Answers at once with a receipt and never waits: go on with other work; the person's answer comes by inbox.",
    effect: Adds,
    arguments: {
        /// The question in one line, with the choices and what you would do.
        question: String,
        /// Task id; default: your claimed task.
        task: Option<String>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    call.session(TOOL.name)?;
    let task = call.task(asked.task.as_deref())?;
    let question = NewCheckpoint {
        state: CheckpointState::AwaitingInput,
        summary: asked.question.trim_end().to_owned(),
        owner: Some(OWNER.to_owned()),
        artifact: None,
        due: None,
    };
    let mut reply = Reply::of_answer(checkpoint::record(call.app, &task, question)?);
    reply.text.push_str("\nthe question waits for a person; the answer comes by inbox");
    Ok(reply.into())
}
