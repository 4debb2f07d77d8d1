//! The size and nesting of a shell text, measured before it is parsed.

/// The most opening delimiters of a text that is analysed on the caller's stack.
const MAX_DELIMITERS: usize = 24;
/// The most parentheses of such a text.
const MAX_PARENTHESES: usize = 10;
/// The longest such text, in bytes.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// Whether the analysis of this text needs a large stack and a time limit.
#[must_use]
pub fn needs_large_stack(text: &str) -> bool {
    text.len() > MAX_TEXT_BYTES
        || text.bytes().filter(|byte| *byte == b'(').count() > MAX_PARENTHESES
        || count_delimiters(text) > MAX_DELIMITERS
}

/// How many parentheses of a text are open at its end. Quotes are not looked at: a quoted one counts too.
pub(super) fn count_unclosed_parentheses(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'(').count().saturating_sub(text.bytes().filter(|byte| *byte == b')').count())
}

/// How deep the parentheses of a text are nested, with and without those in quotes: the larger of both.
///
/// The parser tries each of them in several ways. Where the text behind them does not parse, its time doubles with each.
pub(super) fn parenthesis_depth(text: &str) -> usize {
    let (mut deepest, mut all, mut unquoted, mut quote) = (0, 0_usize, 0_usize, None);
    for byte in text.bytes() {
        match (byte, quote) {
            (b'(', _) => {
                all += 1;
                unquoted += 1;
            }
            (b')', None) => {
                all = all.saturating_sub(1);
                unquoted = unquoted.saturating_sub(1);
            }
            (b')', Some(_)) => all = all.saturating_sub(1),
            (b'\'' | b'"', None) => quote = Some((byte, unquoted)),
            // A bracket that is opened in quotes adds no depth behind them.
            (byte, Some((open, before))) if byte == open => {
                unquoted = before;
                quote = None;
            }
            _ => {}
        }
        deepest = deepest.max(all).max(unquoted);
    }
    deepest
}

/// How deep `case … in` is nested, where each one that is not closed counts.
pub(super) fn case_depth(text: &str) -> usize {
    let (mut deepest, mut depth) = (0, 0_usize);
    let mut words = text.split(|character: char| character.is_whitespace() || matches!(character, ';' | '(' | '{'));
    let mut before = ["", ""];
    for word in words.by_ref().filter(|word| !word.is_empty()) {
        match (before, word) {
            (["case", _], "in") => depth += 1,
            (_, word) if word.starts_with("esac") => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        before = [before[1], word];
    }
    deepest
}

/// The number of opening delimiters and keywords: an upper bound of the nesting depth.
pub(super) fn count_delimiters(text: &str) -> usize {
    let chars = text.chars().filter(|character| matches!(character, '(' | '{' | '[' | '`' | '!' | '<')).count();
    let is_opening = |word: &&str| {
        matches!(
            *word,
            "if" | "for" | "while" | "until" | "case" | "select" | "do" | "then" | "else" | "function" | "time"
        )
    };
    chars + text.split(|character: char| !character.is_ascii_alphanumeric()).filter(is_opening).count()
}
