//! Sentences of documents are short.

use regex::Regex;

use super::markdown::prose;
use super::{pages, text};

/// The words that a sentence may have.
const MAX_WORDS: usize = 20;

/// One sentence in so many may have more of them.
const LONG_ONE_IN: usize = 20;

/// The sentences of a page, each with the line of its paragraph and its number of words. Headings, tables and blocks have none. A
/// piece of code is one word.
fn sentences(source: &str) -> Vec<(usize, usize, String)> {
    let code = Regex::new("``.*?``|`[^`]*`").unwrap();
    let link = Regex::new(r"!?\[([^\]]*)\]\([^)]*\)").unwrap();
    let item = Regex::new(r"^(?:[-*]|\d+\.) +").unwrap();
    let end = Regex::new(r#"[.!?][)*_"]*\s+"#).unwrap();
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let (mut last, mut is_open) = (0, false);
    for (number, line) in prose(source) {
        let line = line.trim();
        // Blocks and comments are left out of the lines, so that a gap in the numbers is the end of a paragraph.
        is_open &= number == last + 1;
        last = number;
        if line.is_empty() || line.starts_with(['#', '|', '<']) {
            is_open = false;
        } else if is_open && !item.is_match(line) {
            let (_, paragraph) = paragraphs.last_mut().unwrap();
            paragraph.push(' ');
            paragraph.push_str(line);
        } else {
            paragraphs.push((number, item.replace(line, "").into_owned()));
            is_open = true;
        }
    }
    let mut sentences = Vec::new();
    for (number, paragraph) in paragraphs {
        let paragraph = code.replace_all(&paragraph, "code");
        let paragraph = link.replace_all(&paragraph, "$1");
        for sentence in end.split(&paragraph) {
            let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            if words > 0 {
                sentences.push((number, words, sentence.to_owned()));
            }
        }
    }
    sentences
}

/// The pages that people read from top to bottom: reference, history, measurements and notes on examples are not among them.
fn is_read(page: &str) -> bool {
    !page.starts_with("docs/reference/")
        && !page.starts_with("examples/")
        && !["CHANGELOG.md", "BENCHMARKS.md"].contains(&page)
}

#[test]
fn few_sentences_are_long() {
    let (mut found, mut count) = (Vec::new(), 0);
    for page in pages().into_iter().filter(|page| is_read(page)) {
        let all = sentences(&text(&page));
        count += all.len();
        let long: Vec<_> = all.iter().filter(|(_, words, _)| *words > MAX_WORDS).collect();
        if long.len() * LONG_ONE_IN > all.len().max(LONG_ONE_IN) {
            found.push(format!("{page}: {} of {} sentences have more than {MAX_WORDS} words", long.len(), all.len()));
            found.extend(long.iter().map(|(line, words, sentence)| format!("  {page}:{line}: {words}: {sentence}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(count > 1_000, "only {count} sentences were found");
}

#[test]
fn sentences_are_told_apart() {
    let page = "# A heading is none\n\nOne `piece of code` here. Two\n[words](more.md) there.\n- An item\n  of two lines\n\n\
                | a table |\n\n```sh\na block. Of commands.\n```\n\nThe end (of all.) Is near.\n";
    let found: Vec<(usize, usize, String)> = sentences(page);
    let found: Vec<(usize, usize, &str)> =
        found.iter().map(|(line, words, sentence)| (*line, *words, sentence.as_str())).collect();
    assert_eq!(
        found,
        [
            (3, 3, "One code here"),
            (3, 3, "Two words there."),
            (5, 5, "An item of two lines"),
            (14, 4, "The end (of all"),
            (14, 2, "Is near."),
        ]
    );
}
