//! The codes of docs/reference/codes.md.

use std::collections::BTreeMap;

const DOCUMENT: &str = include_str!("../../../docs/reference/codes.md");
const SECOND_PART: &str = "\n## Codes inside documents\n";

/// The codes of errors with their exits, and the codes that only stand inside documents.
pub fn documented() -> (BTreeMap<String, i32>, Vec<String>) {
    let (errors, inside) = DOCUMENT.split_once(SECOND_PART).unwrap();
    let rows = |part: &'static str| {
        part.lines().filter(|line| line.starts_with("| `")).flat_map(|line| {
            let mut cells = line.split('|').skip(1).map(str::trim);
            let codes = cells.next().unwrap_or_default().split(", ").map(|code| code.trim_matches('`').to_owned());
            let next = cells.next().unwrap_or_default();
            codes.map(move |code| (code, next))
        })
    };
    let errors = rows(errors).map(|(code, exit)| (code, exit.parse().unwrap())).collect();
    (errors, rows(inside).map(|(code, _)| code).collect())
}

/// The exit that an error code stands for.
pub fn exit_of(code: &str) -> Option<i32> {
    documented().0.get(code).copied()
}
