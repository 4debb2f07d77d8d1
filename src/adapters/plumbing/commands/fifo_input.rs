//! Typing into a session without a terminal.

use std::io::Read;

use anyhow::Result;

use super::{read_limited, session_dir};
use crate::env::Env;

/// The longest text, in bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Hands a text to a session's program, followed by a newline; a session that is not there is no failure.
///
/// # Errors
/// When the text is too long, or the program does not take it.
pub fn send_line(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let text = read_limited("the text", from, MAX_TEXT_BYTES)?;
    Ok(session_dir(env, name)?.send_line(&text)?)
}

/// Presses keys, by their names; a session that is not there is no failure.
pub fn press_keys(env: &Env, name: &str, keys: &[String]) -> Result<()> {
    Ok(session_dir(env, name)?.send_keys(keys)?)
}

/// Interrupts what a session's program does; a session that is not there is no failure.
pub fn interrupt(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.interrupt()?)
}
