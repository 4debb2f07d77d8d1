//! The schemas of `docs/reference/schemas.json` against what the program prints and records.

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
    for line in list.lines().filter_map(|line| line.strip_prefix("- **")) {
        let (name, rest) = line.split_once("**").unwrap();
        // A document that no call prints has no list of them.
        for call in rest.split_once(": `").map_or("", |(_, calls)| calls).split_terminator(", `") {
            let (words, ending) = call.split_once('`').unwrap();
            let command = words.split(' ').take_while(is_word).collect();
            printed.push(PrintedDocument { command, name, is_line: ending == " lines" });
        }
    }
    printed
});

/// The definitions of the published file by name, as text: to read all of them takes longer than many a test.
pub static DEFINITIONS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    static FILE: LazyLock<String> = LazyLock::new(|| text("docs/reference/schemas.json"));
    let (mut definitions, mut open, mut at) = (HashMap::new(), None, 0);
    for line in FILE.split_inclusive('\n') {
        let text = line.trim_end();
        if let Some(name) = text.strip_prefix("    \"").and_then(|text| text.strip_suffix("\": {")) {
            open = Some((name, at + line.find('{').unwrap()));
        } else if let Some((name, start)) = open.filter(|_| matches!(text, "    }" | "    },")) {
            definitions.insert(name, &FILE[start..at + "    }".len()]);
            open = None;
        }
        at += line.len();
    }
    definitions
});

/// The schema of a document, or of a type in one. It is read once in a process.
pub fn schema(name: &str) -> &'static Value {
    resolve(name).unwrap_or_else(|| panic!("no schema {name}"))
}

fn resolve(name: &str) -> Option<&'static Value> {
    static READ: Mutex<Option<HashMap<&str, &'static Value>>> = Mutex::new(None);
    let (name, text) = DEFINITIONS.get_key_value(name)?;
    let read = || &*Box::leak(Box::new(serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))));
    Some(*READ.lock().unwrap().get_or_insert_default().entry(*name).or_insert_with(read))
}

/// The first thing in a document that is not as its schema says.
pub fn violation(name: &str, document: &Value) -> Option<String> {
    let resolve = |reference: &str| resolve(reference.strip_prefix("#/$defs/")?);
    json_schema::violation_with(&resolve, schema(name), document)
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
        let texts: Vec<&str> = if document.is_line { stdout.lines().collect() } else { vec![stdout] };
        let found = texts.into_iter().find_map(|text| match serde_json::from_str(text) {
            Ok(value) => violation(document.name, &value),
            Err(error) => Some(format!("no JSON: {error}")),
        });
        match found {
            Some(found) => wrong.push(format!("{}: {found}", document.name)),
            None => return,
        }
    }
    let call: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    assert!(
        documents.is_empty(),
        "{call:?} prints what docs/reference/schemas.json does not have: {wrong:#?}\n{stdout}"
    );
}

/// Fails unless a failure is the document of errors.
#[track_caller]
pub fn check_error(document: &Value) {
    assert_eq!(violation("error", document), None, "{document}");
}

/// The definitions of the data of events, by kind, as the lines of the schema of events pair them.
static DATA: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    fn value<'t>(line: &'t str, key: &str) -> Option<&'t str> {
        line.trim_start().strip_prefix(key)?.trim_end_matches(',').strip_suffix('"')
    }
    let (mut names, mut kind) = (HashMap::new(), None);
    for line in DEFINITIONS["event"].lines() {
        kind = value(line, "\"const\": \"").or(kind);
        if let Some(name) = value(line, "\"$ref\": \"#/$defs/") {
            names.extend(kind.take().map(|kind| (kind, name)));
        }
    }
    names
});

/// The violation in the data of an event of this kind.
pub fn event_violation(kind: &str, data: &Value) -> Option<String> {
    let Some(name) = DATA.get(kind) else { return Some(format!("the kind {kind} is not known")) };
    violation(name, data).map(|found| format!("{kind}{found}"))
}
