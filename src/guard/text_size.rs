//! The size and nesting of a shell text, measured before it is parsed.

/// The most opening delimiters of a text that is analysed on the caller's stack.
const MAX_DELIMITERS: usize = 24;
/// The longest such text, in bytes.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// Whether the analysis of this text needs a large stack and a time limit.
#[must_use]
pub fn needs_large_stack(text: &str) -> bool {
    text.len() > MAX_TEXT_BYTES || count_delimiters(text) > MAX_DELIMITERS
}

/// How many parentheses of a text are open at its end. Quotes are not looked at: a quoted one counts too.
pub(super) fn count_unclosed_parentheses(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'(').count().saturating_sub(text.bytes().filter(|byte| *byte == b')').count())
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
