//! The purposes of the hints that the program can give, read from its source.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

const FILES: [&str; 3] = [
    "crates/fairway-core/src/domain/refusal/mod.rs",
    "crates/fairway-core/src/domain/refusal/hints.rs",
    "crates/fairway-actions/src/core/errors.rs",
];

/// The purposes: what stands in a text before the colon and a command. Values in them are `{…}`.
pub(super) fn purposes() -> BTreeSet<String> {
    let purpose = Regex::new(
        r#""\s*([a-z][^":]{2,100}): (fairway |git |less |cat |ls |chmod |mkdir |rm |df |make |cd |gh |POST |\{)"#,
    )
    .unwrap();
    let mut found = BTreeSet::new();
    for file in FILES {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        // One hint behind another in one text, also where the source goes on in the next line.
        let text = text.replace("\\n\\\n", "\\n").replace("\\n", "\"\"");
        // A refusal ends where its details or the next one begin; elsewhere the whole file is read.
        let refusals = text.split("#[hint").skip(1).map(|part| {
            let ends = ["\n    #[details", "\n    #[error", "\n    ///"];
            ends.iter().fold(part, |part, end| part.split(end).next().unwrap())
        });
        let parts: Vec<&str> = if text.contains("#[hint") { refusals.collect() } else { vec![&text] };
        for hint in parts {
            found.extend(purpose.captures_iter(hint).map(|found| found[1].to_owned()));
        }
    }
    found
}

/// Whether a hint that was seen has this purpose.
pub(super) fn is_of(seen: &str, purpose: &str) -> bool {
    let parts: Vec<String> = Regex::new(r"\{[^}]*\}").unwrap().split(purpose).map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).unwrap().is_match(seen)
}
