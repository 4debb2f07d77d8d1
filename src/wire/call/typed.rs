//! What `send_keys` types: a string as it is, or a list of texts, keys, pastes and more.

use serde_json::Value;

use super::fields::{Fields, no, sort};
use crate::domain::{Refusal, run::TerminalSize};

/// One thing to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// Letters as they are.
    Text(String),
    /// A named key.
    Key(String),
    /// Text that is pasted.
    Paste(String),
    /// Bytes, as hexadecimal digits.
    Hex(String),
    /// The end of what is typed.
    Eof,
    /// Another size of the terminal.
    Size(TerminalSize),
}

pub(super) fn read(fields: &mut Fields) -> Result<Vec<Typed>, Refusal> {
    match fields.take("keys") {
        None => {
            Err(no("keys", "is missing: a string is typed as it is, a list holds text, key, paste, hex, eof, size"))
        }
        Some(Value::String(text)) => Ok(vec![Typed::Text(text)]),
        Some(Value::Array(list)) => {
            list.into_iter().enumerate().map(|(at, value)| one(value, &format!("keys[{at}]"))).collect()
        }
        Some(other) => Err(no("keys", format!("must be a string or a list, not {}", sort(&other)))),
    }
}

fn one(value: Value, place: &str) -> Result<Typed, Refusal> {
    let mut fields = Fields::of(value, place)?;
    let size = fields.take("size").map(|size| super::spawn::size(size, &fields.at("size"))).transpose()?;
    let eof = fields.flag("eof")?;
    if eof == Some(false) {
        return Err(no(&fields.at("eof"), "must be true, or not be there"));
    }
    let mut said = [
        fields.text("text")?.map(Typed::Text),
        fields.text("key")?.map(Typed::Key),
        fields.text("paste")?.map(Typed::Paste),
        fields.text("hex")?.map(Typed::Hex),
        eof.map(|_| Typed::Eof),
        size.map(Typed::Size),
    ]
    .into_iter()
    .flatten();
    let (Some(one), None) = (said.next(), said.next()) else {
        return Err(no(place, "must hold exactly one of text, key, paste, hex, eof, size"));
    };
    drop(said);
    fields.end()?;
    Ok(one)
}
