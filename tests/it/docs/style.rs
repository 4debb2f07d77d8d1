//! The documentation uses the words of its glossary.

use regex::Regex;

use super::markdown::{Part, parts, prose};
use super::reference::{BEGIN, END};
use super::{pages, root, text};

/// Words that the glossary replaces, for every page that people write.
const FORBIDDEN: &[&str] = &[
    r"\bwhoever\b", r"\bwhomever\b", r"\bnobody\b", r"\bsomebody\b", r"\bone who\b", r"\ba no\b", r"\bvendors?\b",
    r"\bfolders?\b", r"\bsign of life\b", r"\bclaimer\b", r"\bholders?\b", r"\bkeeper\b", r"\bcannot be meant\b",
    r"\bbackground runs?\b", r"\bsit down\b", r"\bin the way\b", r"\bcannot be told\b", r"\bwith a sentence\b",
];

/// The guarantees name tests.
fn is_exempt(page: &str) -> bool {
    page == "docs/guarantees.md"
}

#[test]
fn documents_use_the_words_of_the_glossary() {
    let words: Vec<Regex> = FORBIDDEN.iter().map(|word| Regex::new(&format!("(?i){word}")).unwrap()).collect();
    let code = Regex::new("`[^`]*`").unwrap();
    let (mut found, mut lines) = (Vec::new(), 0);
    for page in pages().into_iter().filter(|page| !is_exempt(page)) {
        let source = text(&page);
        // Generated parts have the sources' texts, and code has its own words.
        let mut is_generated = false;
        for (number, line) in prose(&source) {
            is_generated = (is_generated || line.starts_with(BEGIN.trim())) && !line.starts_with(END.trim());
            if is_generated {
                continue;
            }
            let line = &code.replace_all(line, "");
            lines += 1;
            found.extend(
                words
                    .iter()
                    .filter_map(|word| word.find(line))
                    .map(|word| format!("{page}:{number}: '{}'", word.as_str())),
            );
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(lines > 1_000, "only {lines} lines were read");
}

/// The first screen of README: what Fairway is, how to install it, and the two commands that show and check everything.
#[test]
fn readme_begins_with_its_sentence_install_and_two_commands() {
    let readme = text("README.md");
    let lines: Vec<&str> = readme.lines().collect();
    assert!(lines[0] == "# Fairway" && lines[2].starts_with("Fairway is ") && lines[2].ends_with('.'), "{lines:?}");
    let blocks = parts("README.md", &readme);
    let [Part::Block(install), Part::Block(scripts), ..] = blocks.as_slice() else { panic!("{blocks:?}") };
    assert!(install.lines[0].starts_with("cargo install "), "{install:?}");
    assert!(scripts.start < 20 && scripts.lines.len() == 2, "{scripts:?}");
    for (line, script) in scripts.lines.iter().zip(["examples/quickstart/run.sh", "tests/run.sh"]) {
        assert!(line.starts_with(script) && root().join(script).is_file(), "{line}");
    }
    assert!(lines.len() < 150, "README.md has {} lines", lines.len());
    let (first, _) = readme.split_once("\n## What it is").unwrap();
    let words = first.split_whitespace().count();
    assert!(
        first.contains("## The first five minutes") && words <= 500,
        "{words} words to the end of the first five minutes"
    );
}

/// The guides for people are few. What programs need stands on the other shelf.
#[test]
fn shelf_for_people_has_at_most_twelve_guides() {
    let guides = pages().into_iter().filter(|page| page.starts_with("docs/guides/")).count();
    assert!(guides <= 12, "{guides} guides");
}
