//! Text from agents and programs on its way to a terminal: nothing in it may move the cursor, change colours, turn the
//! reading direction or be there unseen.

use std::fmt::Write as _;

use crate::domain::quote::is_hidden;

/// Replaces every character that a terminal would obey by an escape such as `\u{1b}`. Newlines and tabs stay.
pub fn escape_controls(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => safe.push(character),
            character if is_terminal_control(character) => safe.extend(character.escape_unicode()),
            character => safe.push(character),
        }
    }
    safe
}

/// As [`escape_controls`], on one line: newlines and tabs become spaces.
pub fn escape_line(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    escape_controls(text).replace(['\n', '\t'], " ")
}

/// Removes every character that a terminal would obey; newlines and tabs become spaces.
pub fn strip_controls(text: &str) -> String {
    text.chars()
        .map(|character| if matches!(character, '\n' | '\t') { ' ' } else { character })
        .filter(|l| !is_terminal_control(*l))
        .collect()
}

/// Replaces the characters of a JSON text that a terminal would obey by `\uXXXX`, which readers take for the same characters.
/// They can only be inside strings.
pub fn escape_json(text: String) -> String {
    if !text.contains(is_terminal_control) {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_terminal_control(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Control characters, the bidirectional controls with which text can show another order than it has, and hidden characters.
fn is_terminal_control(character: char) -> bool {
    character.is_control()
        || is_hidden(character)
        || matches!(character, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_is_not_obeyed() {
        let value = "a\u{7f}b\u{9b}c\u{202e}d\u{feff}é👋\u{e0041}";
        let text = escape_json(serde_json::to_string(value).unwrap());
        assert_eq!(text, "\"a\\u007fb\\u009bc\\u202ed\\ufeffé👋\\udb40\\udc41\"");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
    }

    #[test]
    fn control_characters_are_shown_escaped() {
        assert_eq!(
            escape_controls("a\u{1b}[31mb\r\u{202e}c\u{9b}\u{200b}"),
            "a\\u{1b}[31mb\\u{d}\\u{202e}c\\u{9b}\\u{200b}"
        );
        assert_eq!(escape_controls("Grüße 👋\n\tx"), "Grüße 👋\n\tx");
        assert_eq!(escape_line("a\nb\tc"), "a b c");
        assert_eq!(strip_controls("a\u{1b}[31mb\r\u{202e}c\td"), "a[31mbc d");
    }
}
