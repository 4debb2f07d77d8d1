//! Structured sessions: running one, and the requests to it.

use std::io::Read;

use anyhow::Result;

use super::start::warn_of_failure;
use super::{read_limited, session_dir, state_dir};
use crate::acp::Command;
use crate::adapters::StartConfig;
use crate::adapters::plumbing::{self, StructuredSink};
use crate::domain::Refusal;
use crate::env::Env;

/// The longest prompt, in bytes.
const MAX_PROMPT_BYTES: u64 = 4 << 20;

/// Runs the agent of a structured session (one over the Agent Client Protocol) to its end and returns the agent's exit code.
/// `open_sink` gets the start configuration and returns the receiver of the session's reports. `record_exit` gets the start
/// configuration and the exit code; when it fails, `warn` gets the reason.
pub fn run(
    env: &Env,
    name: &str,
    open_sink: impl FnOnce(&StartConfig) -> Box<dyn StructuredSink>,
    record_exit: impl FnOnce(&Env, &StartConfig, i32) -> Result<()>,
    warn: impl FnOnce(&str),
) -> Result<i32> {
    let exited = |start: &StartConfig, code| warn_of_failure(record_exit(env, start, code), warn);
    Ok(plumbing::run_agent(env, &session_dir(env, name)?, open_sink, exited)?)
}

/// Starts a structured session in a background process and returns once the agent's session is open.
pub fn detach(env: &Env, name: &str) -> Result<()> {
    Ok(plumbing::spawn_detached(env, &session_dir(env, name)?, &state_dir(env)?, true)?)
}

/// Gives a prompt to the agent of a structured session. An idle agent gets it at once. A busy one gets it within its running turn
/// if the agent supports that, else after the turn. A session that does not exist is no error.
///
/// # Errors
/// When the prompt is too long or not UTF-8, or the session does not accept it.
pub fn prompt(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let text = read_limited("the prompt", from, MAX_PROMPT_BYTES)?;
    let text = String::from_utf8(text).map_err(|_| Refusal::invalid("the prompt", "is not valid UTF-8"))?;
    Ok(plumbing::send_structured_request(&session_dir(env, name)?, &Command::Prompt(text))?)
}

/// Waits until the agent is idle and no prompt waits for it, then pauses the session for half a minute, in which another process
/// can continue the conversation. A session that does not exist is no error.
pub fn pause(env: &Env, name: &str) -> Result<()> {
    Ok(plumbing::send_structured_request(&session_dir(env, name)?, &Command::Pause)?)
}

/// Asks the agent to end its running turn. A session that is idle or does not exist is no error.
pub fn cancel(env: &Env, name: &str) -> Result<()> {
    Ok(plumbing::send_structured_request(&session_dir(env, name)?, &Command::Cancel)?)
}
