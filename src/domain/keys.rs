//! Keys by their names, as tmux calls them, and what a terminal sends for each.

/// Named keys.
const NAMED: &[(&str, &str)] = &[
    ("Enter", "\r"),
    ("Escape", "\u{1b}"),
    ("Tab", "\t"),
    ("BTab", "\u{1b}[Z"),
    ("Space", " "),
    ("BSpace", "\u{7f}"),
    ("Up", "\u{1b}[A"),
    ("Down", "\u{1b}[B"),
    ("Right", "\u{1b}[C"),
    ("Left", "\u{1b}[D"),
    ("Home", "\u{1b}[H"),
    ("End", "\u{1b}[F"),
    ("PageUp", "\u{1b}[5~"),
    ("PPage", "\u{1b}[5~"),
    ("PageDown", "\u{1b}[6~"),
    ("NPage", "\u{1b}[6~"),
    ("DC", "\u{1b}[3~"),
    ("IC", "\u{1b}[2~"),
];

/// What a terminal sends for a key. A word that names none is text, and is sent as it is.
#[must_use]
pub fn bytes(key: &str) -> Vec<u8> {
    if let Some((_, sent)) = NAMED.iter().find(|(name, _)| *name == key) {
        return (*sent).into();
    }
    if let Some(control) = key.strip_prefix("C-").and_then(control) {
        return vec![control];
    }
    match key.strip_prefix("M-") {
        Some(rest) if rest.chars().count() == 1 => [b"\x1b", rest.as_bytes()].concat(),
        _ => key.into(),
    }
}

fn control(name: &str) -> Option<u8> {
    match name.as_bytes() {
        b"Space" => Some(0),
        b"?" => Some(0x7f),
        [letter @ (b'a'..=b'z' | b'@'..=b'_')] => Some(letter & 0x1f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_keys_and_all_else_is_text() {
        for (key, sent) in [
            ("Enter", &b"\r"[..]),
            ("C-c", b"\x03"),
            ("C-C", b"\x03"),
            ("C-[", b"\x1b"),
            ("C-Space", b"\0"),
            ("M-x", b"\x1bx"),
            ("Up", b"\x1b[A"),
            ("y", b"y"),
            ("", b""),
            ("enter", b"enter"),
            ("C-", b"C-"),
            ("C-yes", b"C-yes"),
            ("C-1", b"C-1"),
            ("C-é", "C-é".as_bytes()),
            ("two words", b"two words"),
        ] {
            assert_eq!(bytes(key), sent, "{key}");
        }
    }
}
