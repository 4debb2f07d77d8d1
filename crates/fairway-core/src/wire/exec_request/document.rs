//! The flat document of the exec protocol: each field of each action, all optional, read by serde. A field that the action does
//! not use is not looked at; `null` is the same as an absent field.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value, json};

use crate::domain::Refusal;
use crate::domain::excerpt::excerpt;
use crate::domain::job::{ItemType, RecoveryPolicy};
use crate::domain::job_output::WatchScope;
use crate::domain::string_enum::string_enum;

/// The longest document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// The actions, in the order in which a text lists them.
pub(super) const ACTIONS: &[&str] = &["spawn", "poll", "log", "kill", "send_keys", "wait", "list", "rm", "gc"];

string_enum! {
    /// The condition that ends a `poll`.
    Until { Exit => "exit", Output => "output", Event => "event" }
}

/// The fields of all actions. Its schema is that of the agents' tool, so a field's text is what a model reads of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecDocument {
    /// Without one: run the command now.
    #[schemars(extend("enum" = ACTIONS))]
    pub(super) action: Option<String>,
    /// Shell text to run.
    pub(super) command: Option<String>,
    /// In place of it: program and arguments, without a shell.
    pub(super) argv: Option<Vec<String>>,
    /// spawn: false waits for its end. Default true.
    pub(super) background: Option<bool>,
    /// spawn: it waits for a slot for checks.
    pub(super) check: Option<bool>,
    /// spawn: give it a terminal.
    pub(super) pty: Option<bool>,
    /// spawn with pty: the terminal's size.
    pub(super) size: Option<Object<SizeDocument>>,
    /// Limit of its time, or of the wait.
    pub(super) timeout_secs: Option<Number>,
    /// How much output is kept.
    pub(super) max_output_bytes: Option<u64>,
    /// spawn: a line that matches is an event of the job and a message to you.
    pub(super) watch: Option<Vec<Object<WatchDocument>>>,
    /// spawn: who gets its messages, default you. list: whose jobs.
    pub(super) session_id: Option<String>,
    /// spawn: run it after the jobs of this queue; '' for none.
    pub(super) queue: Option<String>,
    /// Directory to run it in.
    pub(super) cwd: Option<String>,
    /// spawn: further variables; null unsets.
    pub(super) env: Option<BTreeMap<String, Option<String>>>,
    /// spawn: text on its stdin.
    pub(super) stdin: Option<String>,
    /// spawn: after a crash run it again (default), or not.
    #[schemars(extend("enum" = words(RecoveryPolicy::ALL)))]
    pub(super) recovery: Option<String>,
    /// spawn: wait so long for its end before answering.
    pub(super) yield_ms: Option<u64>,
    /// The job.
    pub(super) run_id: Option<String>,
    /// wait, rm: several jobs.
    pub(super) run_ids: Option<Vec<String>>,
    /// poll, log: output after this number.
    pub(super) since_seq: Option<u64>,
    /// poll: wait so long for news.
    pub(super) wait_ms: Option<u64>,
    /// poll: the news to wait for; default any.
    #[schemars(extend("enum" = words(Until::ALL)))]
    pub(super) until: Option<String>,
    /// log, list: how many.
    pub(super) limit: Option<u64>,
    /// log: only this.
    #[schemars(extend("enum" = words(ItemType::ALL)))]
    pub(super) stream: Option<String>,
    /// kill: name or number of the signal; default TERM.
    #[schemars(extend("type" = ["string", "integer"]))]
    pub(super) signal: Option<Value>,
    /// kill: time to end by itself.
    pub(super) grace_ms: Option<u64>,
    /// `send_keys`: text to type, or a list of objects with one member each; key: a name such as Enter.
    #[schemars(extend("type" = ["string", "array"], "items" = key_schema()))]
    pub(super) keys: Option<Value>,
    /// list: only jobs that have not ended.
    pub(super) unfinished: Option<bool>,
    /// gc: only tell what would go.
    pub(super) dry_run: Option<bool>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SizeDocument {
    pub(super) rows: Option<u64>,
    pub(super) cols: Option<u64>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["regex"]))]
pub(super) struct WatchDocument {
    pub(super) regex: Option<String>,
    /// Its name; default match.
    pub(super) event: Option<String>,
    /// Only the first match.
    pub(super) once: Option<bool>,
    #[schemars(extend("enum" = words(WatchScope::ALL)))]
    pub(super) scope: Option<String>,
}

/// The schema of one input of `keys`, which [`super::super::terminal_input`] reads.
fn key_schema() -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let size = json!({ "type": "object", "properties": { "rows": number, "cols": number } });
    let members =
        json!({ "text": text, "key": text, "paste": text, "hex": text, "eof": { "type": "boolean" }, "size": size });
    json!({ "type": "object", "properties": members })
}

/// The words of a closed set, as a schema lists them.
fn words<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

// A struct that is read from an object only: a derived reader would take a list for one, by position. A doc comment would be its
// description in the schema.
#[derive(Debug, JsonSchema)]
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

/// Parses an exec request's JSON document.
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

/// Makes a usage error about `place`, which names a field or another part of the document.
pub(super) fn usage_error(place: &str, why: impl fmt::Display) -> Refusal {
    Refusal::Usage { why: format!("{place} {why}") }
}

/// Quotes, escapes and shortens a text of the document for an error message.
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
