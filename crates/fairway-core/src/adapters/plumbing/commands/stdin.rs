//! Reading a script's stdin.

use std::io::Read;

use anyhow::Result;

use crate::domain::Refusal;

/// Reads `from` to its end. More than `limit` bytes are an error, in which `what` names the input.
pub fn read_limited(what: &'static str, from: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(limit + 1).read_to_end(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > limit {
        return Err(Refusal::invalid(what, format!("is longer than {limit} bytes")).into());
    }
    Ok(text)
}
