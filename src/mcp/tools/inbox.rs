//! `inbox`: messages and answers to the session.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::mail::inbox;
use fairway_core::domain::Refusal;

/// The longest wait: clients give a call up after a minute.
const MAX_WAIT_SECONDS: u64 = 50;

tool! {
    name: "inbox",
    title: "Read messages",
    description: "Read the messages and answers to you, your lane and your role. What is shown is acknowledged by your next call \
                  that reads messages.",
    effect: Adds,
    arguments: {
        /// Wait so long for a message, at most 50.
        wait_seconds: Option<u64>,
        /// Acknowledge at once what is shown.
        ack: Option<bool>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    call.session(TOOL.name)?;
    if asked.wait_seconds.is_some_and(|wait| wait > MAX_WAIT_SECONDS) {
        return Err(Refusal::invalid("wait_seconds", format!("must be at most {MAX_WAIT_SECONDS}")).into());
    }
    let wait = asked.wait_seconds.filter(|wait| *wait > 0).map(Duration::from_secs);
    let answer = inbox::inbox(call.app, None, wait, asked.ack.unwrap_or(false), &mut |_| ())?;
    let mut reply = Reply::of_answer(answer);
    reply.document = json!({ "messages": reply.document });
    Ok(reply.into())
}
