//! What the scripts call back for.

pub mod control_socket;
pub mod fifo_input;
pub mod inspect;
pub mod meta;
pub mod multiplexer_call;
pub mod multiplexer_server;
pub mod paths;
pub mod process_tree;
pub mod script_terminal;
pub mod start;

use std::{io::Read, path::PathBuf};

use anyhow::Result;

use crate::{
    adapters::{self, StartConfig, plumbing::SessionDir},
    domain::{Refusal, secrets},
    env::Env,
};

/// The directory where the sessions of backend scripts keep their state.
///
/// # Errors
/// When there is no home directory to have it in.
pub fn state_dir(env: &Env) -> Result<PathBuf, Refusal> {
    let none = || Refusal::invalid("the environment", "names no home directory; set HOME or FAIRWAY_ADAPTER_STATE");
    adapters::state_dir(env).ok_or_else(none)
}

pub(crate) fn session_dir(env: &Env, name: &str) -> Result<SessionDir, Refusal> {
    if name.is_empty() {
        return Err(Refusal::invalid("the session's name", "must not be empty"));
    }
    Ok(SessionDir::of(&state_dir(env)?, name))
}

/// Everything that a script hands over, up to a limit in bytes.
pub(crate) fn read_limited(what: &'static str, from: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(limit + 1).read_to_end(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > limit {
        return Err(Refusal::invalid(what, format!("is longer than {limit} bytes")).into());
    }
    Ok(text)
}

/// A start configuration as it may be shown: what looks like a secret is masked.
#[must_use]
pub fn redacted(start: &StartConfig) -> StartConfig {
    let mask = |text: &String| secrets::mask(text);
    let masked = |texts: &[String]| texts.iter().map(mask).collect::<Vec<_>>();
    let env = start
        .env
        .as_ref()
        .map(|env| env.iter().map(|(name, value)| (name.clone(), secrets::mask_value(name, value))).collect());
    StartConfig {
        command: start.command.as_ref().map(mask),
        argv: start.argv.as_deref().map(masked),
        env,
        nudge: start.nudge.as_ref().map(mask),
        pre_start: start.pre_start.as_deref().map(masked),
        session_setup: start.session_setup.as_deref().map(masked),
        session_live: start.session_live.as_deref().map(masked),
        ..start.clone()
    }
}
