//! Typing into a session that has a door of its own.

use std::io::Read;

use anyhow::Result;

use super::{folder, whole};
use crate::{
    adapters::plumbing::{self, Job, sanitize_paste},
    env::Env,
};

/// The longest text, in bytes.
const LONGEST: u64 = 4 << 20;

/// Pastes a text into a session and submits it; returns once it is typed. A session that is not there is no failure.
///
/// # Errors
/// When the text is too long, or the program does not take it in time.
pub fn deliver(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let text = sanitize_paste::clean(&whole("the text", from, LONGEST)?);
    Ok(plumbing::have_typed(&folder(env, name)?, &Job::Text(text))?)
}

/// Presses keys in a session, by their names. A session that is not there is no failure.
///
/// # Errors
/// When the program does not take them in time.
pub fn press(env: &Env, name: &str, keys: Vec<String>) -> Result<()> {
    Ok(plumbing::have_typed(&folder(env, name)?, &Job::Keys(keys))?)
}
