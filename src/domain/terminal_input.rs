//! What is typed to a run: text, keys by their names, pastes, bytes, the end of input, a new size of its terminal.

use super::{Refusal, job::TerminalSize, terminal_keys};

/// The most that one call types, in bytes.
pub const MOST_TYPED: usize = 1 << 20;
/// The most rows or columns that a terminal has.
pub const MOST_LINES: u16 = 10_000;

/// The beginning and the end of a paste to a program that wants to tell it from typing.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");
/// How much of a wrong word is shown, in characters.
const SHOWN: usize = 64;

/// One thing that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A text as it is; nothing in it is a key.
    Text(String),
    /// A key by its name, which is known.
    Key(String),
    /// A text that the program may take for pasted.
    Paste(String),
    /// Bytes as they are.
    Hex(Vec<u8>),
    /// No more input: the end of a pipe, Ctrl-D on a terminal.
    Eof,
    /// The terminal has another size.
    Size(TerminalSize),
}

impl Input {
    /// A key by its name as tmux has it: `Enter`, `Up`, `C-c`, `M-x`, `S-F5`, `y`.
    ///
    /// # Errors
    /// [`Refusal::Usage`] naming what is no key.
    pub fn key(name: &str) -> Result<Self, Refusal> {
        match terminal_keys::named(name, false) {
            Some(_) => Ok(Self::Key(name.to_owned())),
            None => {
                let why = format!("'{}' is no key: keys have tmux's names, as Enter, C-c, M-x, S-Up, F5", shown(name));
                Err(Refusal::Usage { why })
            }
        }
    }

    /// Bytes as pairs of hexadecimal digits, with spaces between pairs if one likes.
    ///
    /// # Errors
    /// [`Refusal::Usage`] naming what is none.
    pub fn hex(text: &str) -> Result<Self, Refusal> {
        let usage = || Refusal::Usage {
            why: format!("'{}' is not hexadecimal: two digits for each byte, as in 1b5b41", shown(text)),
        };
        let mut bytes = Vec::new();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let (pairs, rest) = word.as_bytes().as_chunks::<2>();
            if !rest.is_empty() {
                return Err(usage());
            }
            for [high, low] in pairs {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (high, low) = (digit(*high).ok_or_else(usage)?, digit(*low).ok_or_else(usage)?);
                bytes.push(high << 4 | low);
            }
        }
        if bytes.is_empty() { Err(usage()) } else { Ok(Self::Hex(bytes)) }
    }

    /// A size as `ROWSxCOLS`.
    ///
    /// # Errors
    /// [`Refusal::Usage`] when it is none that a terminal can have.
    pub fn size(text: &str) -> Result<Self, Refusal> {
        size(text).map(Self::Size)
    }

    /// The bytes of it for a terminal or a pipe. The end of input and a size have none: what they are depends on what the
    /// run has.
    #[must_use]
    pub fn bytes(&self, bracketed: bool, application_arrows: bool) -> Vec<u8> {
        match self {
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Key(name) => terminal_keys::bytes_in(name, application_arrows),
            // A paste cannot end itself from within: nothing in it begins a sequence.
            Self::Paste(text) if bracketed => {
                let text = text.replace(['\u{1b}', '\u{9b}'], "");
                [PASTE.0, text.as_bytes(), PASTE.1].concat()
            }
            Self::Paste(text) => text.as_bytes().to_vec(),
            Self::Hex(bytes) => bytes.clone(),
            Self::Eof | Self::Size(_) => Vec::new(),
        }
    }
}

/// A terminal's size as `ROWSxCOLS`.
///
/// # Errors
/// [`Refusal::Usage`] when it is none that a terminal can have.
pub fn size(text: &str) -> Result<TerminalSize, Refusal> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && (1..=MOST_LINES).contains(number))
    };
    let read = || {
        let (rows, cols) = text.split_once('x')?;
        Some(TerminalSize { rows: number(rows)?, cols: number(cols)? })
    };
    read().ok_or_else(|| Refusal::Usage {
        why: format!("'{}' is no size: ROWSxCOLS, each from 1 to {MOST_LINES}, as 24x80", shown(text)),
    })
}

/// Refuses what is more than one call types, and what is nothing at all.
///
/// # Errors
/// [`Refusal::Usage`].
pub fn check(inputs: &[Input]) -> Result<(), Refusal> {
    let usage = |why: String| Err(Refusal::Usage { why });
    if inputs.is_empty() {
        return usage("nothing to type: name keys, or give a text".into());
    }
    let bytes: usize = inputs.iter().map(|input| input.bytes(true, false).len()).sum();
    if bytes > MOST_TYPED {
        return usage(format!("{bytes} bytes are more than one call types, which is {MOST_TYPED}"));
    }
    if inputs.iter().rev().skip(1).any(|input| *input == Input::Eof) {
        return usage("nothing can be typed after the end of input".into());
    }
    Ok(())
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hex_and_sizes_are_strict_and_texts_are_not() {
        assert_eq!(Input::key("C-c").unwrap().bytes(false, false), b"\x03");
        assert_eq!(Input::key("Up").unwrap().bytes(false, true), b"\x1bOA");
        for word in ["Entr", "", "ctrl-c", "yes", "\u{1b}"] {
            let error = Input::key(word).unwrap_err().to_string();
            assert!(error.contains("is no key") && !error.contains('\u{1b}'), "{error}");
        }
        assert_eq!(Input::hex("1B 5b41").unwrap(), Input::Hex(vec![0x1b, 0x5b, 0x41]));
        for text in ["", " ", "1", "1b5", "0x1b", "zz", "é0", "1 b"] {
            assert!(Input::hex(text).is_err(), "{text}");
        }
        assert_eq!(size("50x132").unwrap(), TerminalSize { rows: 50, cols: 132 });
        for text in ["", "50", "50x", "x50", "0x80", "24x0", "24x80x1", "-1x80", "+1x80", "24X80", "24x99999", " 24x80"]
        {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(Input::Text("Enter".into()).bytes(true, true), b"Enter");
    }

    #[test]
    fn a_paste_is_bracketed_where_the_program_asks_and_cannot_end_itself() {
        let paste = Input::Paste("a\x1b[20\x1b[201~1~\u{9b}201~rm\r".into());
        assert_eq!(paste.bytes(true, false), b"\x1b[200~a[20[201~1~201~rm\r\x1b[201~");
        assert_eq!(Input::Paste("a\x1b[201~\r".into()).bytes(false, false), b"a\x1b[201~\r");
    }

    #[test]
    fn nothing_too_much_and_what_follows_the_end_are_refused() {
        assert!(check(&[]).is_err());
        assert!(check(&[Input::Eof]).is_ok());
        assert!(check(&[Input::Eof, Input::Text("x".into())]).is_err());
        assert!(check(&[Input::Text("x".repeat(MOST_TYPED))]).is_ok());
        assert!(check(&[Input::Text("x".repeat(MOST_TYPED)), Input::Text("x".into())]).is_err());
    }
}
