//! The codes of docs/reference/codes.md.

use std::collections::BTreeMap;

const DOCUMENT: &str = include_str!("../../../docs/reference/codes.md");
const SECOND_PART: &str = "\n## Codes inside documents\n";

/// The codes of errors with their exits, and the codes that only stand inside documents.
pub fn documented() -> (BTreeMap<String, i32>, Vec<String>) {
    let (errors, inside) = DOCUMENT.split_once(SECOND_PART).unwrap();
    let mut exits = BTreeMap::new();
    for section in errors.split("\n### Exit ").skip(1) {
        let exit: i32 = section[..1].parse().unwrap();
        exits.extend(codes(section).map(|code| (code, exit)));
    }
    (exits, codes(inside).collect())
}

/// The codes of the items of lists; an item may have several.
fn codes(part: &str) -> impl Iterator<Item = String> {
    let items = part.lines().filter_map(|line| line.strip_prefix("- `")?.split_once("`:"));
    items.flat_map(|(codes, _)| codes.split("`, `").map(str::to_owned))
}

/// The exit that an error code stands for.
pub fn exit_of(code: &str) -> Option<i32> {
    documented().0.get(code).copied()
}
