//! `inbox`: messages and answers to the session.

use std::time::Duration;

use anyhow::Result;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    arguments,
    tool::{Effect, Outcome, Tool, ToolCall},
};
use crate::{actions::mail::inbox, domain::Refusal, mcp::reply::Reply};

/// The longest wait: clients give a call up after a minute.
const MAX_WAIT_SECONDS: u64 = 50;

pub(super) const TOOL: Tool = Tool {
    name: "inbox",
    title: "Read messages",
    description: "Read the messages and answers to you, your lane and your role. What is shown is acknowledged by your next call \
                  that reads messages.",
    schema: arguments::schema::<Arguments>,
    effect: Effect::Adds,
    call,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Arguments {
    /// Wait so long for a message, at most 50.
    wait_seconds: Option<u64>,
    /// Acknowledge at once what is shown.
    ack: Option<bool>,
}

fn call(call: &ToolCall<'_>) -> Result<Outcome> {
    call.session(TOOL.name)?;
    let asked: Arguments = arguments::read(&call.arguments)?;
    if asked.wait_seconds.is_some_and(|wait| wait > MAX_WAIT_SECONDS) {
        return Err(Refusal::invalid("wait_seconds", format!("must be at most {MAX_WAIT_SECONDS}")).into());
    }
    let wait = asked.wait_seconds.filter(|wait| *wait > 0).map(Duration::from_secs);
    let answer = inbox::inbox(call.app, None, wait, asked.ack.unwrap_or(false))?;
    let mut reply = Reply::of_answer(answer);
    reply.document = json!({ "messages": reply.document });
    Ok(reply.into())
}
