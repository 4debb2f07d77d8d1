//! The beginning of a rejected value, for error messages.

/// The most characters of a rejected value that a message shows.
const MAX_CHARS: usize = 64;

/// The first 64 characters of `text` with control characters escaped; `…` marks a longer text.
pub fn excerpt(text: &str) -> String {
    let shown = text.chars().take(MAX_CHARS).flat_map(char::escape_debug);
    shown.chain(text.chars().nth(MAX_CHARS).map(|_| '…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_and_control_characters_are_escaped() {
        assert_eq!(excerpt("a\u{1b}b"), "a\\u{1b}b");
        assert_eq!(excerpt(&"é".repeat(64)), "é".repeat(64));
        assert_eq!(excerpt(&"é".repeat(65)), format!("{}…", "é".repeat(64)));
    }
}
