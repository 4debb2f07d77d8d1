//! Text from agents and programs on its way to a terminal: nothing in it may move the cursor, change colours or turn
//! the reading direction.

/// Text of several lines with everything that a terminal would obey shown as an escape. Newlines and tabs stay.
#[must_use]
pub fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => safe.push(letter),
            letter if obeyed(letter) => safe.extend(letter.escape_unicode()),
            letter => safe.push(letter),
        }
    }
    safe
}

/// The same on one line: newlines and tabs become spaces.
#[must_use]
pub fn safe_line(text: &str) -> String {
    safe(text).replace(['\n', '\t'], " ")
}

/// Control characters, and the bidirectional controls with which text can show another order than it has.
fn obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_instead() {
        assert_eq!(safe("a\u{1b}[31mb\r\u{202e}c\u{9b}"), "a\\u{1b}[31mb\\u{d}\\u{202e}c\\u{9b}");
        assert_eq!(safe("Grüße 👋\n\tx"), "Grüße 👋\n\tx");
        assert_eq!(safe_line("a\nb\tc"), "a b c");
    }
}
