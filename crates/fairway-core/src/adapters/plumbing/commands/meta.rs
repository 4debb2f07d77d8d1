//! Values that are stored with a session.

use std::io::Read;

use anyhow::Result;

use super::{read_limited, session_dir};
use crate::env::Env;

/// The longest value, in bytes.
const MAX_VALUE_BYTES: u64 = 1 << 20;

/// The value that was stored with the session under the key, else the variable of that name in its start environment; `None` when
/// the key is unset or the session does not exist.
pub fn get(env: &Env, name: &str, key: &str) -> Result<Option<Vec<u8>>> {
    Ok(session_dir(env, name)?.value(key)?)
}

/// Reads a value from `from` and stores it with the session. Does nothing when the session does not exist.
///
/// # Errors
/// When the value is too long.
pub fn set(env: &Env, name: &str, key: &str, from: impl Read) -> Result<()> {
    let value = read_limited("the value", from, MAX_VALUE_BYTES)?;
    Ok(session_dir(env, name)?.set_value(key, &value)?)
}

/// Unsets a value, even one that comes from the start environment. Does nothing when the session does not exist.
pub fn remove(env: &Env, name: &str, key: &str) -> Result<()> {
    Ok(session_dir(env, name)?.unset_value(key)?)
}
