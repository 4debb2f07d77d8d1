//! What a provider's own record of a session says about use. The records belong to the providers and change with them: what
//! cannot be read is passed over, and a number that is not there is not made up.
//!
//! One turn here is one answer of the model, with the key that the provider gives it: whoever reads a part twice tells the
//! same turns.

mod claude;
mod codex;
mod gemini;
mod lines;

use std::{io, path::Path};

use serde_json::Value;

use crate::{domain::usage::Turn, env::Timestamp};

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// The answers of the model, in their order.
    pub turns: Vec<Turn>,
    /// How far the record was read, in bytes: where the next reading begins.
    pub offset: u64,
    /// How many tokens the newest answer had before it and wrote; `None` when no answer was read.
    pub context_tokens: Option<u64>,
    /// How many tokens fit, where the record says so.
    pub context_window: Option<u64>,
}

impl Read {
    /// Adds an answer. One of the same key that was read before is this one, written again with more in it.
    fn add(&mut self, turn: Turn) {
        match self.turns.iter_mut().rev().find(|known| turn.key.is_some() && known.key == turn.key) {
            Some(known) => *known = turn,
            None => self.turns.push(turn),
        }
    }
}

/// The providers whose records can be read.
pub const PROVIDERS: [&str; 3] = ["claude", "codex", "gemini"];

/// Reads the record from an offset on: whole lines only, so that one that is being written is read the next time. A record
/// that is shorter than the offset is another one and is read from its beginning.
///
/// # Errors
/// When it cannot be opened or read, or is no regular file; `Unsupported` for a provider whose records are not known.
pub fn since(provider: &str, path: &Path, offset: u64) -> io::Result<Read> {
    let line = match provider {
        "claude" => |read: &mut Read, _: &mut _, line: &[u8]| claude::line(read, line),
        "codex" => codex::line,
        "gemini" => |read: &mut Read, _: &mut _, line: &[u8]| gemini::line(read, line),
        _ => {
            let why = format!("the records of {provider:?} are not known");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
    };
    let (mut read, mut model) = (Read::default(), None);
    let (from, to) = lines::since(path, offset, &mut |text| line(&mut read, &mut model, text))?;
    read.offset = to;
    codex::find_models(&mut read, path, from)?;
    Ok(read)
}

/// A line as JSON, if it holds one of these words; the others need not be understood.
fn value(line: &[u8], word: &str) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    text.contains(word).then(|| serde_json::from_str(text).ok()).flatten()
}

/// A number of tokens; what is absent or odd is none.
fn tokens(from: &Value, name: &str) -> u64 {
    from[name].as_u64().unwrap_or(0)
}

/// A text that is there and not empty.
fn text(from: &Value) -> Option<String> {
    from.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// When the line was written.
fn time(from: &Value) -> Option<Timestamp> {
    from["timestamp"].as_str().and_then(Timestamp::parse)
}
