//! Characters that a person does not see and an agent reads: a text can hide orders in them.

/// Whether a character has no width and carries a text of its own or none. The joiners U+200C and U+200D and the variation
/// selectors up to U+FE0F are not among them: scripts and emoji need them.
pub const fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{180E}' | '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}'
    )
}

/// A text with its hidden characters written as `\u{…}`.
pub fn reveal_hidden(text: &str) -> String {
    let mut revealed = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            revealed.extend(character.escape_unicode());
        } else {
            revealed.push(character);
        }
    }
    revealed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_out_and_joiners_stay() {
        assert_eq!(reveal_hidden("a\u{200b}b\u{2060}c\u{e0041}"), "a\\u{200b}b\\u{2060}c\\u{e0041}");
        let family = "👨\u{200d}👩 ❤\u{fe0f} می\u{200c}خواهم";
        assert_eq!(reveal_hidden(family), family);
    }
}
