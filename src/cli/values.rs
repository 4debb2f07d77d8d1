//! Readers for values on the command line: what they cannot read never reaches a use case.

use std::time::Duration;

use crate::{
    config::parse_duration,
    domain::{LaneName, Refusal, Role, SessionId, TaskId, id::Label, task::Status},
};

macro_rules! reader {
    ($(#[$meta:meta])* $name:ident -> $type:ty) => {
        $(#[$meta])*
        pub fn $name(text: &str) -> Result<$type, Refusal> {
            <$type>::parse(text)
        }
    };
}

reader!(task -> TaskId);
reader!(role -> Role);
reader!(lane -> LaneName);
reader!(session -> SessionId);
reader!(label -> Label);

/// A span of time.
pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
}

/// A task's status.
pub fn status(text: &str) -> Result<Status, String> {
    word(text, Status::parse(text), Status::ALL.iter().map(|status| status.as_str()))
}

/// A request id: 1 to 128 printable ASCII characters.
pub fn request_id(text: &str) -> Result<String, String> {
    if (1..=128).contains(&text.len()) && text.chars().all(|letter| letter.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 128 printable ASCII characters without spaces".into())
    }
}

/// A word of a closed set, or a sentence that names them all.
pub fn word<T>(text: &str, found: Option<T>, all: impl Iterator<Item = &'static str>) -> Result<T, String> {
    found.ok_or_else(|| format!("'{}' is none of {}", text.escape_debug(), all.collect::<Vec<_>>().join(", ")))
}

/// A commit: 7 to 64 hexadecimal digits, lower case.
pub fn commit(text: &str) -> Result<String, String> {
    if (7..=64).contains(&text.len()) && text.chars().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("is not a commit of 7 to 64 hexadecimal digits".into())
    }
}

/// A variable and its value, `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("must be NAME=VALUE".into()),
    }
}
