//! The flat document of the exec protocol: each field of each action, all optional, read by serde. A field that the action does
//! not use is not looked at; `null` is the same as an absent field.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Number, Value};

use crate::domain::{Refusal, excerpt::excerpt};

/// The longest document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// The fields of all actions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExecDocument {
    pub(super) action: Option<String>,
    pub(super) command: Option<String>,
    pub(super) argv: Option<Vec<String>>,
    pub(super) background: Option<bool>,
    pub(super) pty: Option<bool>,
    pub(super) size: Option<Object<SizeDocument>>,
    pub(super) timeout_secs: Option<Number>,
    pub(super) max_output_bytes: Option<u64>,
    pub(super) watch: Option<Vec<Object<WatchDocument>>>,
    pub(super) session_id: Option<String>,
    pub(super) queue: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: Option<BTreeMap<String, Option<String>>>,
    pub(super) stdin: Option<String>,
    pub(super) recovery: Option<String>,
    pub(super) yield_ms: Option<u64>,
    pub(super) run_id: Option<String>,
    pub(super) run_ids: Option<Vec<String>>,
    pub(super) since_seq: Option<u64>,
    pub(super) wait_ms: Option<u64>,
    pub(super) until: Option<String>,
    pub(super) limit: Option<u64>,
    pub(super) stream: Option<String>,
    /// A name or a number.
    pub(super) signal: Option<Value>,
    pub(super) grace_ms: Option<u64>,
    /// A text or a list of inputs.
    pub(super) keys: Option<Value>,
    pub(super) unfinished: Option<bool>,
    pub(super) dry_run: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SizeDocument {
    pub(super) rows: Option<u64>,
    pub(super) cols: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WatchDocument {
    pub(super) regex: Option<String>,
    pub(super) event: Option<String>,
    pub(super) once: Option<bool>,
    pub(super) scope: Option<String>,
}

/// A struct that is read from an object only: a derived reader would take a list for one, by position.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, members: M) -> Result<T, M::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }

        from.deserialize_map(Members(PhantomData)).map(Object)
    }
}

/// Reads a document.
///
/// # Errors
/// `usage` with the place of an unknown, repeated or mistyped field.
pub(super) fn read(text: &str) -> Result<ExecDocument, Refusal> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(usage_error("the document", format!("is longer than {MAX_DOCUMENT_BYTES} bytes")));
    }
    // The reader has a limit on depth of its own.
    let mut reader = serde_json::Deserializer::from_str(text);
    let Object(document) = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        refusal(&path, error.inner())
    })?;
    reader.end().map_err(|error| refusal(".", &error))?;
    Ok(document)
}

/// A usage error that names the place.
pub(super) fn usage_error(place: &str, why: impl fmt::Display) -> Refusal {
    Refusal::Usage { why: format!("{place} {why}") }
}

/// A text of the document as an error repeats it: quoted, escaped and cut.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", excerpt(text))
}

/// An error of the reader, in the words of the document. Its own text may hold a value of any length, or a secret.
fn refusal(path: &str, error: &serde_json::Error) -> Refusal {
    if !error.is_data() {
        return usage_error("the document", format!("is not valid JSON: {error}"));
    }
    let place = if path == "." { "the document".to_owned() } else { excerpt(path) };
    let text = error.to_string();
    // The last one: the name before it may be any text.
    let (head, expected) = text.rsplit_once(", expected ").unwrap_or((&text, ""));
    if let Some(name) = head.strip_prefix("unknown field `").and_then(|name| name.strip_suffix('`')) {
        return unknown_field(path, name, expected);
    }
    if let Some(name) = text.strip_prefix("duplicate field `").and_then(|rest| rest.split('`').next()) {
        return usage_error("field", format!("{} is given twice", quoted(name)));
    }
    let expected = match expected.rsplit_once(" at line ").map_or(expected, |(expected, _)| expected) {
        "u64" => "a whole number from 0",
        "a JSON number" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other => other,
    };
    let found = head.split_once(": ").map_or(head, |(_, found)| found);
    let found = match found.split(' ').next().unwrap_or_default() {
        "string" => "a string".to_owned(),
        "boolean" => "true or false".to_owned(),
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        // A number of the wrong kind is best shown.
        _ => excerpt(found.split('`').nth(1).unwrap_or(found)),
    };
    usage_error(&place, format!("must be {expected}, not {found}"))
}

fn unknown_field(path: &str, name: &str, expected: &str) -> Refusal {
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known));
    let tip = match near.filter(|(distance, known)| *distance <= known.len().max(4) / 2).min() {
        Some((_, near)) => format!("did you mean '{near}'?"),
        None => format!("there are {}", known.join(", ")),
    };
    let inside = path.strip_suffix(name).unwrap_or_default().trim_end_matches('.');
    let inside = if inside.is_empty() { String::new() } else { format!(" in {}", excerpt(inside)) };
    Refusal::Usage { why: format!("unknown field {}{inside}; {tip}", quoted(name)) }
}
