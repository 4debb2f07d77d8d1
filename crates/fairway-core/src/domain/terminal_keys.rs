//! Keys by their names, as tmux calls them, and what a terminal sends for each.

/// The bytes that a terminal sends for a key. A word that names no key is text, and is returned as it is.
pub fn bytes(word: &str) -> Vec<u8> {
    bytes_in_mode(word, false)
}

/// As [`bytes`]. With `application_arrows`, arrow keys have the form that a program requests by mode 1.
pub fn bytes_in_mode(word: &str, application_arrows: bool) -> Vec<u8> {
    parse(word, application_arrows).unwrap_or_else(|| word.as_bytes().to_vec())
}

/// The bytes of a key; `None` when the word names no key.
///
/// A key is a character or a name, with any of `C-`, `M-` and `S-` before it, in any order.
pub fn parse(word: &str, application_arrows: bool) -> Option<Vec<u8>> {
    let (held, key) = Modifiers::split_from(word)?;
    if let Some(character) = single_char(key).filter(|character| !character.is_control()) {
        return held.encode_char(character);
    }
    let plain = |text: &str| held.encode_bytes(text.as_bytes());
    match key {
        "Enter" => plain("\r"),
        "Tab" if held.shift => Modifiers { shift: false, ..held }.encode_bytes(b"\x1b[Z"),
        "Tab" => plain("\t"),
        "BTab" => plain("\x1b[Z"),
        "Space" => held.encode_char(' '),
        "BSpace" => plain("\x7f"),
        "Escape" => plain("\x1b"),
        "Up" => Some(held.encode_arrow('A', application_arrows)),
        "Down" => Some(held.encode_arrow('B', application_arrows)),
        "Right" => Some(held.encode_arrow('C', application_arrows)),
        "Left" => Some(held.encode_arrow('D', application_arrows)),
        "Home" => Some(held.encode_arrow('H', false)),
        "End" => Some(held.encode_arrow('F', false)),
        "IC" | "Insert" => Some(held.tilde_sequence(2)),
        "DC" | "Delete" => Some(held.tilde_sequence(3)),
        "PPage" | "PageUp" | "PgUp" => Some(held.tilde_sequence(5)),
        "NPage" | "PageDown" | "PgDn" => Some(held.tilde_sequence(6)),
        _ => function_key(key, held),
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Modifiers {
    control: bool,
    meta: bool,
    shift: bool,
}

impl Modifiers {
    /// The modifiers before a key, each once, and the key.
    fn split_from(word: &str) -> Option<(Self, &str)> {
        let (mut held, mut key) = (Self::default(), word);
        while let Some((before, rest)) = key.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
            let this = match before {
                "C" => &mut held.control,
                "M" => &mut held.meta,
                "S" => &mut held.shift,
                _ => break,
            };
            if std::mem::replace(this, true) {
                return None;
            }
            key = rest;
        }
        Some((held, key))
    }

    /// The number of the modifiers in xterm's sequences: 1 without any.
    fn xterm_code(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.meta) + 4 * u8::from(self.control)
    }

    /// The bytes of a key to which a terminal can add only the Meta key, as an Escape before it.
    fn encode_bytes(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let escape: &[u8] = if self.meta { b"\x1b" } else { b"" };
        (!self.control && !self.shift).then(|| [escape, bytes].concat())
    }

    fn encode_char(self, character: char) -> Option<Vec<u8>> {
        let bytes = match (self.control, self.shift) {
            (false, false) => character.to_string().into_bytes(),
            (false, true) if character.is_ascii_alphabetic() => {
                vec![u8::try_from(character).ok()?.to_ascii_uppercase()]
            }
            (true, false) => vec![control_code(character)?],
            _ => return None,
        };
        Self { meta: self.meta, ..Self::default() }.encode_bytes(&bytes)
    }

    fn encode_arrow(self, character: char, application: bool) -> Vec<u8> {
        match self.xterm_code() {
            1 if application => format!("\x1bO{character}"),
            1 => format!("\x1b[{character}"),
            number => format!("\x1b[1;{number}{character}"),
        }
        .into_bytes()
    }

    fn tilde_sequence(self, key: u8) -> Vec<u8> {
        match self.xterm_code() {
            1 => format!("\x1b[{key}~"),
            number => format!("\x1b[{key};{number}~"),
        }
        .into_bytes()
    }
}

fn single_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn control_code(character: char) -> Option<u8> {
    match u8::try_from(character).ok()?.to_ascii_uppercase() {
        b' ' => Some(0),
        b'?' => Some(0x7f),
        byte @ b'@'..=b'_' => Some(byte & 0x1f),
        _ => None,
    }
}

fn function_key(key: &str, held: Modifiers) -> Option<Vec<u8>> {
    let first = |character: char| match held.xterm_code() {
        1 => format!("\x1bO{character}").into_bytes(),
        _ => held.encode_arrow(character, false),
    };
    Some(match key.strip_prefix('F')? {
        "1" => first('P'),
        "2" => first('Q'),
        "3" => first('R'),
        "4" => first('S'),
        "5" => held.tilde_sequence(15),
        "6" => held.tilde_sequence(17),
        "7" => held.tilde_sequence(18),
        "8" => held.tilde_sequence(19),
        "9" => held.tilde_sequence(20),
        "10" => held.tilde_sequence(21),
        "11" => held.tilde_sequence(23),
        "12" => held.tilde_sequence(24),
        _ => return None,
    })
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
            ("S-Up", "\x1b[1;2A"),
            ("C-M-Left", "\x1b[1;7D"),
            ("M-Up", "\x1b[1;3A"),
            ("S-F1", "\x1b[1;2P"),
            ("C-F5", "\x1b[15;5~"),
            ("C-Delete", "\x1b[3;5~"),
            ("S-Tab", "\x1b[Z"),
            ("S-a", "A"),
            ("-", "-"),
            ("C--", "C--"),
            ("M--", "\x1b-"),
            ("C-C-c", "C-C-c"),
            ("C-Enter", "C-Enter"),
            ("C-S-c", "C-S-c"),
            ("M-", "M-"),
            ("F13", "F13"),
            ("F", "F"),
            ("y;", "y;"),
            ("", ""),
            ("é", "é"),
        ] {
            assert_eq!(String::from_utf8(bytes(word)).unwrap(), sent, "{word}");
        }
        assert_eq!(bytes_in_mode("Up", true), b"\x1bOA");
        assert_eq!(bytes_in_mode("C-Up", true), b"\x1b[1;5A");
    }

    #[test]
    fn strictly_a_word_is_no_key() {
        for word in ["enter", "", "ab", "C-", "C-1", "X-a", "F13", "F0", "F01", "C-C-a", "M-M-a", "S-1", "é!", "Esc"] {
            assert_eq!(parse(word, false), None, "{word}");
        }
        for (word, sent) in [("é", "é"), ("y", "y"), ("M-é", "\x1bé"), ("C-m", "\r"), ("S-M-Tab", "\x1b\x1b[Z")] {
            assert_eq!(parse(word, false).as_deref(), Some(sent.as_bytes()), "{word}");
        }
    }
}
