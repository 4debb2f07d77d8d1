//! A search for text: the kinds of its hits, the comparison, and the excerpt around a match.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::secrets::mask;
use super::string_enum::string_enum;

/// The longest part of an excerpt before the match, the match itself and the part behind it, in characters.
const MAX_BEFORE: usize = 60;
const MAX_MATCH: usize = 120;
const MAX_AFTER: usize = 120;

string_enum! {
    SearchKind {
        /// A task's id, title, body or reason.
        Task => "task",
        /// A checkpoint or note that an agent or a person wrote.
        Checkpoint => "checkpoint",
        Evidence => "evidence",
        Handoff => "handoff",
        Review => "review",
        Message => "message",
        /// The provider's transcript of a session, else that of its terminal.
        Transcript => "transcript",
    }
}

/// A comparison with text.
#[derive(Debug, Clone)]
pub struct TextMatcher {
    regex: Regex,
    /// Whether the text reads the same inside a JSON string.
    is_plain: bool,
}

/// The text around a match, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchExcerpt {
    /// The text, with `…` where it was cut.
    pub text: String,
    pub range: Range<usize>,
}

impl TextMatcher {
    /// Makes a search for a text, or for a regular expression when `is_regex`. It tells upper and lower case apart only when the
    /// text has an upper-case letter.
    ///
    /// # Errors
    /// A sentence that says why the text cannot be searched for: it is empty, no regular expression, or one that matches an empty
    /// text.
    pub fn new(text: &str, is_regex: bool) -> Result<Self, String> {
        if text.is_empty() {
            return Err("must not be empty".to_owned());
        }
        let pattern = if is_regex { text.to_owned() } else { regex::escape(text) };
        let regex = RegexBuilder::new(&pattern)
            .case_insensitive(!has_upper_case(text, is_regex))
            .multi_line(true)
            .build()
            .map_err(|error| format!("is not a regular expression: {}", reason(&error)))?;
        if regex.is_match("") {
            return Err("matches every text, because it matches an empty one".to_owned());
        }
        let is_same_in_json = |character: char| {
            character.is_ascii_alphanumeric() || matches!(character, ' ' | '_' | '-' | '.' | ',' | ':')
        };
        Ok(Self { regex, is_plain: !is_regex && text.chars().all(is_same_in_json) })
    }

    /// Whether a match in one of the strings of a JSON document is possible. `false` is certain; `true` may be wrong.
    pub fn may_match_json(&self, document: &str) -> bool {
        !self.is_plain || self.regex.is_match(document)
    }

    /// The first match in a text. Secrets in the text are masked before, so that a search cannot find a secret by its characters.
    pub fn find(&self, text: &str) -> Option<MatchExcerpt> {
        if !self.regex.is_match(text) {
            return None;
        }
        let masked = mask(text);
        let found = self.regex.find(&masked)?;
        Some(excerpt(&masked, found.range()))
    }
}

/// Whether a text has an upper-case letter. The letter of an escape sequence, such as `\W`, does not count in an expression.
fn has_upper_case(text: &str, is_regex: bool) -> bool {
    let mut chars = text.chars();
    while let Some(character) = chars.next() {
        if character == '\\' && is_regex {
            chars.next();
        } else if character.is_uppercase() {
            return true;
        }
    }
    false
}

/// The last line of the parser's message: the lines before it show the expression.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn excerpt(text: &str, found: Range<usize>) -> MatchExcerpt {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let (before, own, after) = (part(0..found.start), part(found.clone()), part(found.end..text.len()));
    let skipped = before.chars().count().saturating_sub(MAX_BEFORE);
    let mut shown: String = if skipped > 0 { "…".into() } else { String::new() };
    // Leading white space shows nothing.
    let before: String = before.chars().skip(skipped).collect();
    shown.push_str(before.trim_start());
    let start = shown.chars().count();
    push_at_most(&mut shown, own, MAX_MATCH);
    let end = shown.chars().count();
    push_at_most(&mut shown, after.trim_end(), MAX_AFTER);
    let text = shown.chars().map(|character| if character.is_whitespace() { ' ' } else { character }).collect();
    MatchExcerpt { text, range: start..end }
}

fn push_at_most(shown: &mut String, part: &str, limit: usize) {
    shown.extend(part.chars().take(limit));
    if part.chars().nth(limit).is_some() {
        shown.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, is_regex: bool, within: &str) -> Option<String> {
        let excerpt = TextMatcher::new(text, is_regex).unwrap().find(within)?;
        let matched = excerpt.text.chars().skip(excerpt.range.start).take(excerpt.range.len());
        Some(matched.collect())
    }

    #[test]
    fn case_counts_only_with_an_upper_case_letter() {
        assert_eq!(found("tax", false, "The Tax rate").as_deref(), Some("Tax"));
        assert_eq!(found("TAX", false, "The Tax rate"), None);
        assert_eq!(found("größe", false, "GRÖSSE GRÖßE").as_deref(), Some("GRÖßE"));
        assert_eq!(found(r"ta\S", true, "The TAX").as_deref(), Some("TAX"));
        assert_eq!(found(r"Ta\S", true, "The TAX"), None);
        assert_eq!(found("a.c", false, "abc a.c").as_deref(), Some("a.c"));
        assert_eq!(found("^b", true, "a\nb").as_deref(), Some("b"));
    }

    #[test]
    fn texts_that_cannot_be_searched_for_are_refused() {
        for (text, is_regex) in [("", false), ("", true), ("(", true), ("a*", true), ("a{9999999}", true)] {
            assert!(TextMatcher::new(text, is_regex).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_are_masked_and_cannot_be_found() {
        let text = "export API_KEY=abcdef123456 for the tax";
        assert_eq!(found("abcdef", false, text), None);
        let excerpt = TextMatcher::new("tax", false).unwrap().find(text).unwrap();
        assert_eq!(excerpt.text, "export API_KEY=••• for the tax");
    }

    #[test]
    fn excerpt_is_one_short_line_that_holds_the_match() {
        let text = format!("{}\n\tneedle\n{}", "a ".repeat(500), "b".repeat(5_000));
        let excerpt = TextMatcher::new("needle", false).unwrap().find(&text).unwrap();
        assert!(excerpt.text.starts_with('…') && excerpt.text.ends_with("bbb…"), "{excerpt:?}");
        assert!(excerpt.text.chars().count() < 200 && !excerpt.text.contains('\n'));
        assert_eq!(found("needle", false, &text).as_deref(), Some("needle"));
        let long = TextMatcher::new("x+", true).unwrap().find(&"x".repeat(1_000)).unwrap();
        assert_eq!(long.range, 0..MAX_MATCH + 1);
    }
}
