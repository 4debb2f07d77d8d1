//! Typing into a session without a terminal.

use std::io::Read;

use anyhow::Result;

use super::{folder, whole};
use crate::env::Env;

/// The longest text, in bytes.
const LONGEST: u64 = 16 << 20;

/// Hands a text to a session's program, followed by a newline; a session that is not there is no failure.
///
/// # Errors
/// When the text is too long, or the program does not take it.
pub fn input(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let text = whole("the text", from, LONGEST)?;
    Ok(folder(env, name)?.input(&text)?)
}

/// Presses keys, by their names; a session that is not there is no failure.
///
/// # Errors
/// When the program does not take them.
pub fn press(env: &Env, name: &str, keys: &[String]) -> Result<()> {
    Ok(folder(env, name)?.press(keys)?)
}

/// Interrupts what a session's program does; a session that is not there is no failure.
///
/// # Errors
/// When the kernel refuses.
pub fn interrupt(env: &Env, name: &str) -> Result<()> {
    Ok(folder(env, name)?.interrupt()?)
}
