//! Keys from the bytes of a terminal in raw mode.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Paste(String),
    Unknown,
}

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// The longest pasted text, in bytes; the rest is dropped.
const MAX_PASTE: usize = 32 << 10;
const MAX_SEQUENCE: usize = 32;

#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    bytes: Vec<u8>,
}

impl KeyDecoder {
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = first_key(&self.bytes) {
            self.bytes.drain(..length);
            keys.push(key);
        }
        keys
    }

    /// Whether some bytes are left that may be the beginning of a key.
    pub(super) fn is_waiting(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Ends the wait for further bytes, and returns the keys in the bytes that are left. A lone escape byte is the Escape
    /// key, and any other incomplete sequence is an unknown key. An incomplete paste is kept.
    pub(super) fn end(&mut self) -> Vec<Key> {
        if self.bytes.starts_with(PASTE_BEGIN) {
            return Vec::new();
        }
        match std::mem::take(&mut self.bytes).as_slice() {
            [] => Vec::new(),
            [0x1b] => vec![Key::Escape],
            _ => vec![Key::Unknown],
        }
    }
}

/// The first key and its length in bytes; `None` when it is not whole.
fn first_key(bytes: &[u8]) -> Option<(Key, usize)> {
    let first = *bytes.first()?;
    match first {
        0x1b => escape(bytes),
        b'\r' | b'\n' => Some((Key::Enter, 1)),
        b'\t' => Some((Key::Tab, 1)),
        0x7f | 0x08 => Some((Key::Backspace, 1)),
        1..=26 => Some((Key::Ctrl(char::from(first + b'a' - 1)), 1)),
        0..=31 => Some((Key::Unknown, 1)),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes.first()? {
        0x00..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Some((Key::Unknown, 1)),
    };
    let text = std::str::from_utf8(bytes.get(..length)?).ok().and_then(|text| text.chars().next());
    Some(text.map_or((Key::Unknown, 1), |character| (Key::Char(character), length)))
}

fn escape(bytes: &[u8]) -> Option<(Key, usize)> {
    if bytes.starts_with(PASTE_BEGIN) {
        let text = bytes.get(PASTE_BEGIN.len()..)?;
        let end = text.windows(PASTE_END.len()).position(|part| part == PASTE_END)?;
        let kept = text.get(..end.min(MAX_PASTE)).unwrap_or_default();
        let length = PASTE_BEGIN.len() + end + PASTE_END.len();
        return Some((Key::Paste(String::from_utf8_lossy(kept).into_owned()), length));
    }
    match bytes.get(1)? {
        b'[' => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte));
            match end {
                Some(end) => Some((sequence(bytes.get(2..end + 3).unwrap_or_default()), end + 3)),
                None if bytes.len() > MAX_SEQUENCE => Some((Key::Unknown, bytes.len())),
                None => None,
            }
        }
        b'O' => Some((sequence(bytes.get(2..3)?), 3)),
        0x1b => Some((Key::Escape, 1)),
        // Alt with a key means nothing here.
        _ => Some((Key::Unknown, 2)),
    }
}

/// The key of a sequence without its beginning `ESC [`.
fn sequence(text: &[u8]) -> Key {
    match text {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        b"Z" => Key::BackTab,
        b"M" => Key::Enter,
        _ => Key::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = KeyDecoder::default();
        let mut keys = decoder.take(bytes);
        keys.extend(decoder.end());
        keys
    }

    #[test]
    fn bytes_are_keys() {
        assert_eq!(keys("jä日".as_bytes()), [Key::Char('j'), Key::Char('ä'), Key::Char('日')]);
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[5~\x1b[Z"), [Key::Up, Key::Down, Key::PageUp, Key::BackTab]);
        assert_eq!(keys(b"\r\t\x7f\x03\x1a"), [Key::Enter, Key::Tab, Key::Backspace, Key::Ctrl('c'), Key::Ctrl('z')]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b\x1b[B"), [Key::Escape, Key::Down]);
        assert_eq!(keys(b"\x1bx\x1b[1;5Aq"), [Key::Unknown, Key::Unknown, Key::Char('q')]);
        assert_eq!(keys(b"\xff\xfeq"), [Key::Unknown, Key::Unknown, Key::Char('q')]);
    }

    #[test]
    fn key_in_pieces_is_one_key() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.take(b"\x1b"), []);
        assert!(decoder.is_waiting());
        assert_eq!(decoder.take(b"[6"), []);
        assert_eq!(decoder.take(b"~\xc3"), [Key::PageDown]);
        assert_eq!(decoder.take(b"\xa4"), [Key::Char('ä')]);
        assert!(!decoder.is_waiting());
    }

    #[test]
    fn pasted_text_is_no_key() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.take(b"\x1b[200~yq\n"), []);
        assert_eq!(decoder.end(), []);
        assert_eq!(decoder.take(b"s\x1b[201~j"), [Key::Paste("yq\ns".into()), Key::Char('j')]);
        // A program cannot make the memory grow with a sequence that does not end.
        assert_eq!(keys(format!("\x1b[{}", "1".repeat(99)).as_bytes()), [Key::Unknown]);
    }
}
