//! Typing into a session that has a control socket.

use std::io::Read;

use anyhow::Result;

use super::{read_limited, session_dir};
use crate::{
    adapters::plumbing::{self, KeyboardInput, sanitize_paste},
    env::Env,
};

/// The longest text, in bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Pastes a text into a session and submits it; returns once it is typed. A session that is not there is no failure.
///
/// # Errors
/// When the text is too long, or the program does not take it in time.
pub fn submit_text(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let text = sanitize_paste::sanitize_paste(&read_limited("the text", from, MAX_TEXT_BYTES)?);
    Ok(plumbing::have_typed(&session_dir(env, name)?, &KeyboardInput::Text(text))?)
}

/// Presses keys in a session, by their names. A session that is not there is no failure.
///
/// # Errors
/// When the program does not take them in time.
pub fn press_keys(env: &Env, name: &str, keys: Vec<String>) -> Result<()> {
    Ok(plumbing::have_typed(&session_dir(env, name)?, &KeyboardInput::Keys(keys))?)
}
