//! `docs/reference/codes.md` has the codes of the refusals, made from their entries.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use super::*;

/// Renews the items of the refusals in the lists of errors. Other items stay; a new code goes after the last one of its exit.
fn with_refusals(document: &str) -> String {
    let mut rows: BTreeMap<&str, (u8, String)> = BTreeMap::new();
    for (code, kind, doc) in Refusal::ENTRIES {
        let (exit, doc) = (kind.exit_code(), doc.trim().trim_end_matches('.'));
        let known = rows.entry(code).or_insert_with(|| {
            let mut letters = doc.chars();
            let first = letters.next().map(|letter| letter.to_lowercase().to_string());
            let meaning = format!("{}{}", first.unwrap_or_default(), letters.as_str());
            (exit, format!("- `{code}`: {meaning}"))
        });
        assert_eq!(known.0, exit, "{code} has two kinds");
        assert!(!known.1.ends_with(": "), "the first refusal with {code} has no doc comment");
    }
    let (errors, rest) = document.split_once("\n## Codes inside documents").unwrap();
    let mut lines: Vec<String> = Vec::new();
    for line in errors.lines() {
        let code = line.strip_prefix("- `").and_then(|line| line.split_once('`'));
        lines.push(code.and_then(|(code, _)| rows.remove(code)).map_or_else(|| line.to_owned(), |(_, row)| row));
    }
    for (exit, row) in rows.into_values() {
        let heading = format!("### Exit {exit}");
        let section = lines.iter().position(|line| *line == heading).unwrap() + 1;
        let end =
            lines[section..].iter().position(|line| line.starts_with('#')).map_or(lines.len(), |end| section + end);
        let last = section + lines[section..end].iter().rposition(|line| line.starts_with("- `")).unwrap();
        lines.insert(last + 1, row);
    }
    format!("{}\n\n## Codes inside documents{rest}", lines.join("\n").trim_end())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test is told by a variable to write the document")]
fn document_of_codes_has_every_refusal() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/codes.md");
    let document = fs::read_to_string(&path).unwrap();
    let wanted = with_refusals(&document);
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    assert!(wanted == document, "docs/reference/codes.md is out of date; UPDATE_DOCS=1 writes it");
}
