//! Values that are kept with a session.

use std::io::Read;

use anyhow::Result;

use super::{read_limited, session_dir};
use crate::env::Env;

/// The longest value, in bytes.
const MAX_VALUE_BYTES: u64 = 1 << 20;

/// A value, byte by byte: one that was kept, else one of the environment that the session was started with.
pub fn get(env: &Env, name: &str, key: &str) -> Result<Option<Vec<u8>>> {
    Ok(session_dir(env, name)?.value(key)?)
}

/// Keeps a value; without such a session it does nothing.
///
/// # Errors
/// When it is too long, or cannot be kept.
pub fn set(env: &Env, name: &str, key: &str, from: impl Read) -> Result<()> {
    let value = read_limited("the value", from, MAX_VALUE_BYTES)?;
    Ok(session_dir(env, name)?.set_value(key, &value)?)
}

/// Forgets a value; without such a session it does nothing.
pub fn remove(env: &Env, name: &str, key: &str) -> Result<()> {
    Ok(session_dir(env, name)?.unset_value(key)?)
}
