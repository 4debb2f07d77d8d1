//! Comments that say nothing hide the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::common::rust_files::sources;

/// Folders whose doc comments are help texts and descriptions of schemas.
const SHOWN: [&str; 3] = ["crates/fairway-core/src/wire/", "src/cli/", "src/api/"];
/// Words that add nothing to a name.
const FILLERS: [&str; 9] = ["the", "its", "a", "an", "of", "this", "that", "their", "one"];

/// Every source file with its path from the root.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    let files: Vec<_> = sources().into_iter().map(read).collect();
    assert!(files.len() > 500, "only {} files were read", files.len());
    files
}

/// The words of a sentence or of an identifier.
fn words(text: &str) -> Vec<String> {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[A-Z]?[a-z0-9]+|[A-Z]+").unwrap());
    PARTS.find_iter(text).map(|word| word.as_str().to_lowercase()).collect()
}

/// The text behind the marker of a doc comment.
fn doc(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("///").map(str::trim)
}

/// A section on errors that says no more than that something can fail.
const EMPTY_SECTION: &str = "^(As (the )?(store|git|server|SQLite|kernel) (fails|says)\
    |(Store|Git) errors|Errors of the (store|file system)\
    |When (git fails|it fails|the kernel refuses|(it|that|they|the file|a file) cannot be [a-z]+))\\.$";

fn says_nothing(errors: &str) -> bool {
    static EMPTY: LazyLock<Regex> = LazyLock::new(|| Regex::new(EMPTY_SECTION).unwrap());
    EMPTY.is_match(errors)
}

#[test]
fn section_about_errors_says_more_than_that_something_fails() {
    let mut found = Vec::new();
    for (name, text) in files() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| doc(line) == Some("# Errors")) {
            let section: Vec<&str> = lines[at + 1..].iter().map_while(|line| doc(line)).collect();
            if says_nothing(section.join(" ").trim()) {
                found.push(format!("{name}:{}: {}", at + 2, section.join(" ")));
            }
        }
    }
    assert!(found.is_empty(), "these sections say no code and no effect; delete them: {found:#?}");
    assert!(says_nothing("As the store fails.") && !says_nothing("`not_found` for the lane."));
}

/// Whether a doc comment has no word but those of the item's own line.
fn repeats(comment: &str, item: &str) -> bool {
    let of_item = words(item);
    let said = words(comment);
    !comment.contains(['`', '[', '('])
        && said.len() <= 3
        && said.iter().all(|word| {
            let stem = word.strip_suffix('s').unwrap_or(word);
            FILLERS.contains(&word.as_str()) || of_item.iter().any(|own| own.strip_suffix('s').unwrap_or(own) == stem)
        })
}

#[test]
fn doc_comment_says_more_than_the_name() {
    let mut found = Vec::new();
    for (name, text) in files() {
        let is_shown = SHOWN.iter().any(|folder| name.starts_with(folder)) || text.contains("JsonSchema");
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|_| !is_shown) {
            let is_alone = at == 0 || doc(lines[at - 1]).is_none();
            let (Some(comment), true) = (doc(line), is_alone) else { continue };
            let item = lines[at + 1..].iter().find(|line| !line.trim_start().starts_with("#["));
            if item.is_some_and(|item| doc(item).is_none() && repeats(comment, item)) {
                found.push(format!("{name}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "these comments repeat the name; delete them: {found:#?}");
    assert!(repeats("The task.", "pub task: TaskId,") && !repeats("Seconds since 1970.", "pub at: u64,"));
}
