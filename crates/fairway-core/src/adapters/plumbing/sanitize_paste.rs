//! Makes a text safe to be pasted into a terminal.

/// The beginning and the end of a bracketed paste.
const PASTE_BRACKETS: [&[u8]; 2] = [b"\x1b[200~", b"\x1b[201~"];

/// Removes the escape sequences that begin or end a bracketed paste, so that the text cannot end the paste early, and all NUL
/// bytes. A sequence that results from the removal of another one is removed, too. All other bytes stay.
pub fn sanitize_paste(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for byte in text.iter().copied().filter(|byte| *byte != 0) {
        kept.push(byte);
        if let Some(bracket) = PASTE_BRACKETS.iter().find(|bracket| kept.ends_with(bracket)) {
            kept.truncate(kept.len() - bracket.len());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    #[test]
    fn sanitizing_removes_every_bracket_and_nothing_else() {
        for (text, clean) in [
            (&b"a\x1b[201~b\x1b[200~c"[..], &b"abc"[..]),
            (b"\x1b[20\x1b[201~1~; rm", b"; rm"),
            (b"\x1b[2\x1b[20\x1b[201~0~01~x", b"x"),
            (b"\x1b[2\x0001~x\0", b"x"),
            (b"\x1b[202~\x1b[31m\x1b[201", b"\x1b[202~\x1b[31m\x1b[201"),
            (b"", b""),
        ] {
            assert_eq!(super::sanitize_paste(text), clean, "{text:?}");
        }
        let all: Vec<u8> = (1..=255).collect();
        assert_eq!(super::sanitize_paste(&all), all);
    }
}
