//! The sources use the words of `docs/concepts.md`. A word is forbidden here only where it has no second, ordinary meaning in
//! the code; for words such as "run", "hold" or "end" the glossary is guidance.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::rust_files::SOURCES;

/// Words that the glossary replaces, alone or as a part of an identifier.
const FORBIDDEN_WORDS: &[&str] = &[
    "bury", "crowd", "desk", "door", "doors", "folder", "folders", "guest", "guests", "house", "hurry", "impatience",
    "keeper", "lifeline", "newborn", "nobody", "owed", "patience", "remark", "remarks", "seat", "seats", "somebody",
    "stillborn", "turnstile", "unseat", "vendor", "vendors", "ward", "whoever", "whomever",
];

/// Phrases that the style rules of `CONTRIBUTING.md` replace.
const FORBIDDEN_PHRASES: &[&str] = &[
    "a no,", "a no.", "a yes.", "cannot be meant", "cannot be told", "is its own affair", "sign of life",
    "signs of life", // A number before them decides: `plural::count`.
    "commit(s)", "event(s)", "file(s)", "job(s)", "lane(s)", "message(s)", "review(s)", "session(s)", "task(s)",
];

/// JSON keys, SQL columns, names of files and old spellings of commands: they are promises and stay. Each stands in quotes.
const PROMISED: &[&str] = &[
    "\"door\"", "\"folder\"", "\"gives no sign of life\"", "\"remarks\"", "trustedFolders.json", "\"run_folder_left\"",
    "\"run_folder_missing\"", "\"seat\"", "\"unseat\"",
];

/// The words of a line, in lower case: split at everything that is no letter, and inside an identifier at each capital.
fn words(line: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut after_lowercase = false;
    for character in line.chars() {
        if !character.is_ascii_alphabetic() || (character.is_ascii_uppercase() && after_lowercase) {
            words.insert(std::mem::take(&mut word).to_lowercase());
        }
        if character.is_ascii_alphabetic() {
            word.push(character);
        }
        after_lowercase = character.is_ascii_lowercase();
    }
    words.insert(word.to_lowercase());
    words
}

fn violations(line: &str) -> Vec<&'static str> {
    let line = PROMISED.iter().fold(line.to_owned(), |line, promised| line.replace(promised, "\"\""));
    let words = words(&line);
    let lowercase = line.to_lowercase();
    let forbidden = FORBIDDEN_WORDS.iter().filter(|word| words.contains(**word));
    forbidden.chain(FORBIDDEN_PHRASES.iter().filter(|phrase| lowercase.contains(**phrase))).copied().collect()
}

fn list_files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            list_files(&entry.unwrap().path(), found);
        }
    } else {
        found.push(path.to_owned());
    }
}

#[test]
fn sources_use_the_words_of_the_glossary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for part in SOURCES.into_iter().chain(["session-adapters", "docs/reference/cli.md", ".fairway.example.toml"]) {
        list_files(&root.join(part), &mut files);
    }
    let mut found = Vec::new();
    for file in &files {
        for (number, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
            let name = file.strip_prefix(root).unwrap().display();
            found.extend(violations(line).into_iter().map(|word| format!("{name}:{}: '{word}' in {line}", number + 1)));
        }
    }
    assert!(files.len() > 500, "only {} files were read", files.len());
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}

#[test]
fn forbidden_words_are_found_in_prose_and_identifiers() {
    assert_eq!(violations("let wake_folder = OldHouse::new(); // Whoever asks"), ["folder", "house", "whoever"]);
    assert_eq!(violations("/// Every doubt is a no."), ["a no."]);
    assert!(violations("entry_point: row.get(\"door\")?, // forwards an award").is_empty());
}
