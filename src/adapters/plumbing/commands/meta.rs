//! Values that are kept with a session.

use std::io::Read;

use anyhow::Result;

use super::{folder, whole};
use crate::env::Env;

/// The longest value, in bytes.
const LONGEST: u64 = 1 << 20;

/// A value, byte by byte: one that was kept, else one of the environment that the session was started with.
///
/// # Errors
/// When it cannot be read.
pub fn get(env: &Env, name: &str, key: &str) -> Result<Option<Vec<u8>>> {
    Ok(folder(env, name)?.value(key)?)
}

/// Keeps a value; without such a session it does nothing.
///
/// # Errors
/// When it is too long, or cannot be kept.
pub fn set(env: &Env, name: &str, key: &str, from: impl Read) -> Result<()> {
    let value = whole("the value", from, LONGEST)?;
    Ok(folder(env, name)?.set_value(key, &value)?)
}

/// Forgets a value; without such a session it does nothing.
///
/// # Errors
/// When it cannot be forgotten.
pub fn remove(env: &Env, name: &str, key: &str) -> Result<()> {
    Ok(folder(env, name)?.unset_value(key)?)
}
