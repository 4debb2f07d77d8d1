//! The size and nesting of a shell text, measured before it is parsed.

/// How much a text may open before it is judged on a stack of its own.
const MAX_DELIMITERS: usize = 24;
/// How long a text may be before that, in bytes.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// Whether judging this text wants a large stack and a time limit.
#[must_use]
pub fn needs_large_stack(text: &str) -> bool {
    text.len() > MAX_TEXT_BYTES || count_delimiters(text) > MAX_DELIMITERS
}

/// How often something is opened in a text, closed again or not: no text is nested deeper than that.
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
