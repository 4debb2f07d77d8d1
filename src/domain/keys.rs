//! Keys by their names, as tmux calls them, and what a terminal sends for each.

/// What a terminal sends for a key. A word that names none is text, and is sent as it is.
#[must_use]
pub fn bytes(word: &str) -> Vec<u8> {
    bytes_in(word, false)
}

/// The same for a terminal whose program may have asked for arrows in their other form (mode 1).
#[must_use]
pub fn bytes_in(word: &str, application_arrows: bool) -> Vec<u8> {
    named(word, application_arrows).unwrap_or_else(|| word.as_bytes().to_vec())
}

fn named(word: &str, application_arrows: bool) -> Option<Vec<u8>> {
    if let Some(key) = word.strip_prefix("M-").filter(|key| !key.is_empty()) {
        let one = one(key).map(|letter| letter.to_string().into_bytes());
        let rest = named(key, application_arrows).or(one)?;
        return Some([b"\x1b".to_vec(), rest].concat());
    }
    if let Some(key) = word.strip_prefix("C-") {
        return control(key).map(|byte| vec![byte]);
    }
    let arrow = |letter: char| if application_arrows { format!("\x1bO{letter}") } else { format!("\x1b[{letter}") };
    let sequence = match word {
        "Enter" => "\r".to_owned(),
        "Tab" => "\t".to_owned(),
        "BTab" => "\x1b[Z".to_owned(),
        "Space" => " ".to_owned(),
        "BSpace" => "\x7f".to_owned(),
        "Escape" => "\x1b".to_owned(),
        "Up" => arrow('A'),
        "Down" => arrow('B'),
        "Right" => arrow('C'),
        "Left" => arrow('D'),
        "Home" => arrow('H'),
        "End" => arrow('F'),
        "IC" | "Insert" => "\x1b[2~".to_owned(),
        "DC" | "Delete" => "\x1b[3~".to_owned(),
        "PPage" | "PageUp" | "PgUp" => "\x1b[5~".to_owned(),
        "NPage" | "PageDown" | "PgDn" => "\x1b[6~".to_owned(),
        _ => return function(word),
    };
    Some(sequence.into_bytes())
}

fn one(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

fn control(key: &str) -> Option<u8> {
    if key == "Space" {
        return Some(0);
    }
    match u8::try_from(one(key)?).ok()?.to_ascii_uppercase() {
        b'?' => Some(0x7f),
        byte @ b'@'..=b'_' => Some(byte & 0x1f),
        _ => None,
    }
}

fn function(word: &str) -> Option<Vec<u8>> {
    let sequence = match word.strip_prefix('F')? {
        "1" => "\x1bOP",
        "2" => "\x1bOQ",
        "3" => "\x1bOR",
        "4" => "\x1bOS",
        "5" => "\x1b[15~",
        "6" => "\x1b[17~",
        "7" => "\x1b[18~",
        "8" => "\x1b[19~",
        "9" => "\x1b[20~",
        "10" => "\x1b[21~",
        "11" => "\x1b[23~",
        "12" => "\x1b[24~",
        _ => return None,
    };
    Some(sequence.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_keys_and_everything_else_is_text() {
        for (word, sent) in [
            ("Enter", "\r"),
            ("Up", "\x1b[A"),
            ("Escape", "\x1b"),
            ("C-c", "\x03"),
            ("C-C", "\x03"),
            ("C-[", "\x1b"),
            ("C-?", "\x7f"),
            ("C-Space", "\0"),
            ("M-x", "\x1bx"),
            ("M-Enter", "\x1b\r"),
            ("M-C-a", "\x1b\x01"),
            ("F12", "\x1b[24~"),
            ("enter", "enter"),
            ("C-", "C-"),
            ("C-xy", "C-xy"),
            ("C-1", "C-1"),
            ("C-é", "C-é"),
            ("M-", "M-"),
            ("F13", "F13"),
            ("F", "F"),
            ("y;", "y;"),
            ("", ""),
            ("é", "é"),
        ] {
            assert_eq!(String::from_utf8(bytes(word)).unwrap(), sent, "{word}");
        }
        assert_eq!(bytes_in("Up", true), b"\x1bOA");
    }
}
