//! Text of systemd units. A path, whatever is in it, stays one word and is expanded by nothing.

use std::fmt::Write as _;

/// Quotes a text as one word of a line such as `Environment=`.
pub fn word(text: &str) -> String {
    quoted(&text.replace('%', "%%"))
}

/// Quotes a text as one argument of a command line. Unlike in other words, `$` is escaped too, since systemd replaces variables
/// there.
pub fn argument(text: &str) -> String {
    quoted(&text.replace('%', "%%").replace('$', "$$"))
}

/// Escapes a text as the value of a line such as `Description=`. Control characters and backslashes become spaces.
pub fn text(text: &str) -> String {
    text.replace('%', "%%").replace(|character: char| character.is_control() || character == '\\', " ")
}

fn quoted(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=%$@,+".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut word = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => word.extend(['\\', character]),
            character if character.is_ascii_control() => {
                let _ = write!(word, "\\x{:02x}", u32::from(character));
            }
            character => word.push(character),
        }
    }
    word.push('"');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_one_and_is_not_expanded() {
        for (text, as_word, as_argument) in [
            ("/usr/bin/fairway", "/usr/bin/fairway", "/usr/bin/fairway"),
            ("/home/a b", "\"/home/a b\"", "\"/home/a b\""),
            ("100%h", "100%%h", "100%%h"),
            ("$HOME ${X}", "\"$HOME ${X}\"", "\"$$HOME $${X}\""),
            ("a\"b\\c'd", r#""a\"b\\c'd""#, r#""a\"b\\c'd""#),
            ("a\nExecStart=/bin/false", r#""a\x0aExecStart=/bin/false""#, r#""a\x0aExecStart=/bin/false""#),
            (";", "\";\"", "\";\""),
            ("", "\"\"", "\"\""),
        ] {
            assert_eq!((word(text).as_str(), argument(text).as_str()), (as_word, as_argument), "{text}");
        }
        assert_eq!(text("a%\nExecStart=\\x"), "a%% ExecStart= x");
    }
}
