//! The schemas of `docs/reference/schemas` against what the program prints and records.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use serde_json::Value;

use super::json_schema;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents that a call prints, as the page says.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedDocument {
    /// The words of the command, without what makes the difference between its documents.
    pub command: Vec<&'static str>,
    /// The document's name.
    pub name: &'static str,
    /// Whether each line is one.
    pub is_line: bool,
}

/// The calls and their documents.
pub static PRINTED: LazyLock<Vec<PrintedDocument>> = LazyLock::new(|| {
    static PAGE: LazyLock<String> = LazyLock::new(|| text("docs/reference/json.md"));
    let (_, list) = PAGE.split_once("\n## Documents\n").unwrap();
    let (list, _) = list.split_once("\n## ").unwrap();
    let is_word =
        |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-') && !word.starts_with('-');
    let mut printed = Vec::new();
    for line in list.lines().filter_map(|line| line.strip_prefix("- [")) {
        let (name, rest) = line.split_once(']').unwrap();
        // A document that no call prints has no list of them.
        for call in rest.split_once(": `").map_or("", |(_, calls)| calls).split_terminator(", `") {
            let (words, ending) = call.split_once('`').unwrap();
            let command = words.split(' ').take_while(is_word).collect();
            printed.push(PrintedDocument { command, name, is_line: ending == " lines" });
        }
    }
    printed
});

/// The schema of a document. It is read once in a process.
pub fn schema(name: &str) -> &'static Value {
    static READ: Mutex<Option<HashMap<String, &'static Value>>> = Mutex::new(None);
    let mut read = READ.lock().unwrap();
    read.get_or_insert_default().entry(name.to_owned()).or_insert_with(|| {
        let text = text(&format!("docs/reference/schemas/{name}.json"));
        Box::leak(Box::new(serde_json::from_str(&text).unwrap()))
    })
}

/// The documents of the command that a call's arguments name; none for one without documents.
pub fn documents_of(args: &[impl AsRef<str>]) -> Vec<&'static PrintedDocument> {
    let words: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    // Options of every command may stand before its words.
    let begins = |from: usize| {
        let fits = |printed: &&PrintedDocument| words[from..].starts_with(&printed.command);
        let longest = PRINTED.iter().filter(fits).map(|printed| printed.command.len()).max()?;
        Some(PRINTED.iter().filter(fits).filter(|printed| printed.command.len() == longest).collect())
    };
    (0..words.len()).find_map(begins).unwrap_or_default()
}

/// Fails unless the output of a call with `--json` is one of the command's documents. A command without documents passes.
#[track_caller]
pub fn check_output(args: &[impl AsRef<str>], stdout: &str) {
    let documents = documents_of(args);
    let mut wrong = Vec::new();
    for document in &documents {
        let schema = schema(document.name);
        let texts: Vec<&str> = if document.is_line { stdout.lines().collect() } else { vec![stdout] };
        let found = texts.into_iter().find_map(|text| match serde_json::from_str(text) {
            Ok(value) => json_schema::violation(schema, &value),
            Err(error) => Some(format!("no JSON: {error}")),
        });
        match found {
            Some(found) => wrong.push(format!("{}: {found}", document.name)),
            None => return,
        }
    }
    let call: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    assert!(documents.is_empty(), "{call:?} prints what docs/reference/schemas does not have: {wrong:#?}\n{stdout}");
}

/// Fails unless a failure is the document of errors.
#[track_caller]
pub fn check_error(document: &Value) {
    let found = json_schema::violation(schema("error"), document);
    assert_eq!(found, None, "{document}");
}

/// The parts of the schema of events about the data of each kind, as text: to read the whole one takes longer than many a
/// test. Its lines are walked once, because a search for each kind takes longer than the commands of the test.
static PARTS_OF_DATA: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    static EVENT: LazyLock<String> = LazyLock::new(|| text("docs/reference/schemas/event.json"));
    fn value<'t>(line: &'t str, key: &str) -> Option<&'t str> {
        line.trim_start().strip_prefix(key)?.trim_end_matches(',').strip_suffix('"')
    }
    let (mut names, mut parts, mut kind, mut part, mut at) = (Vec::new(), HashMap::new(), None, None, 0);
    for line in EVENT.split_inclusive('\n') {
        let text = line.trim_end();
        if let Some(found) = value(text, "\"const\": \"") {
            kind = Some(found);
        } else if let Some(name) = value(text, "\"$ref\": \"#/$defs/") {
            names.extend(kind.take().map(|kind| (kind, name)));
        } else if let Some(name) = text.strip_prefix("    \"").and_then(|text| text.strip_suffix("\": {")) {
            part = Some((name, at + line.find('{').unwrap()));
        } else if let Some((name, start)) = part.filter(|_| matches!(text, "    }" | "    },")) {
            parts.insert(name, &EVENT[start..at + "    }".len()]);
            part = None;
        }
        at += line.len();
    }
    names.into_iter().filter_map(|(kind, name)| Some((kind, *parts.get(name)?))).collect()
});

/// The schema of the data of a kind of event. It is read once in a process.
fn schema_of_data(kind: &str) -> Option<&'static Value> {
    static READ: Mutex<Option<HashMap<&str, &'static Value>>> = Mutex::new(None);
    let (kind, part) = PARTS_OF_DATA.get_key_value(kind)?;
    let read = || &*Box::leak(Box::new(serde_json::from_str(part).unwrap_or_else(|error| panic!("{error}: {part}"))));
    Some(*READ.lock().unwrap().get_or_insert_default().entry(*kind).or_insert_with(read))
}

/// The violation in the data of an event of this kind.
pub fn event_violation(kind: &str, data: &Value) -> Option<String> {
    let Some(schema) = schema_of_data(kind) else { return Some(format!("the kind {kind} is not known")) };
    json_schema::violation(schema, data).map(|found| format!("{kind}{found}"))
}
