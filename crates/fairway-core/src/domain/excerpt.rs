//! The beginning of a rejected value, for error messages, and the end of a failed command's output.

use super::{ansi, secrets};

/// The most characters of a rejected value that a message shows.
const MAX_CHARS: usize = 64;

/// The first 64 characters of `text` with control characters escaped; `…` marks a longer text.
pub fn excerpt(text: &str) -> String {
    let shown = text.chars().take(MAX_CHARS).flat_map(char::escape_debug);
    shown.chain(text.chars().nth(MAX_CHARS).map(|_| '…')).collect()
}

/// How many lines of a failed command's output are told, and how much of each.
const MAX_OUTPUT_LINES: usize = 12;
const MAX_OUTPUT_LINE_CHARS: usize = 300;

/// The last lines of an output as text, without secrets.
pub fn end_of_output(output: &[u8]) -> String {
    let text = secrets::mask(&ansi::visible_text(&String::from_utf8_lossy(output)));
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last = lines.get(lines.len().saturating_sub(MAX_OUTPUT_LINES)..).unwrap_or_default();
    let cut = |line: &&str| line.chars().take(MAX_OUTPUT_LINE_CHARS).collect::<String>();
    last.iter().map(cut).collect::<Vec<_>>().join("\n")
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
