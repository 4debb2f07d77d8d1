//! Typing into a session without a terminal.

use std::io::Read;

use anyhow::Result;

use super::{read_limited, session_dir};
use crate::env::Env;

/// The longest text, in bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Writes a text and a newline to the input of a session's program. A session that does not exist is no error.
///
/// # Errors
/// When the text is too long, or the program does not read it in time.
pub fn send_line(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let text = read_limited("the text", from, MAX_TEXT_BYTES)?;
    Ok(session_dir(env, name)?.send_line(&text)?)
}

/// Sends keys, given by names such as `Enter` or `C-c`, to a session's program. A session that does not exist is no error.
pub fn press_keys(env: &Env, name: &str, keys: &[String]) -> Result<()> {
    Ok(session_dir(env, name)?.send_keys(keys)?)
}

/// Interrupts a session's program, as Ctrl-C would. A session that does not exist is no error.
pub fn interrupt(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.interrupt()?)
}
