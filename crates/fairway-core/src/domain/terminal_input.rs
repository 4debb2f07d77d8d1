//! Input of a job's terminal: text, keys by their names, pastes, bytes, the end of input, a new size.

use super::excerpt::excerpt;
use super::job::TerminalSize;
use super::{Refusal, terminal_keys};

/// The largest input of one call, in bytes.
pub const MAX_INPUT_BYTES: usize = 1 << 20;
/// The most rows or columns that a terminal has.
pub const MAX_TERMINAL_DIMENSION: u16 = 10_000;

/// The sequences around a paste, for a program that distinguishes a paste from typing.
const BRACKETED_PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");

/// One piece of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInput {
    /// A text, which is typed as it is; nothing in it is a key.
    Text(String),
    /// The name of a key that exists.
    Key(String),
    /// A text that the program may recognize as pasted.
    Paste(String),
    Hex(Vec<u8>),
    /// The end of the input: it closes a pipe, and is Ctrl-D on a terminal.
    Eof,
    Size(TerminalSize),
}

impl TerminalInput {
    /// Checks a key's name as tmux spells it: `Enter`, `Up`, `C-c`, `M-x`, `S-F5`, `y`.
    /// Fails with [`Refusal::NoKey`].
    pub fn parse_key(name: &str) -> Result<Self, Refusal> {
        match terminal_keys::parse(name, false) {
            Some(_) => Ok(Self::Key(name.to_owned())),
            None => Err(Refusal::NoKey { name: excerpt(name) }),
        }
    }

    /// Parses bytes as pairs of hexadecimal digits; spaces may stand between pairs.
    /// Fails with [`Refusal::Usage`] naming the text.
    pub fn parse_hex(text: &str) -> Result<Self, Refusal> {
        let usage = || Refusal::Usage {
            why: format!("'{}' is not hexadecimal: two digits for each byte, as in 1b5b41", excerpt(text)),
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

    /// Parses a size as `ROWSxCOLS`.
    /// Fails with [`Refusal::Usage`] when no terminal can have it.
    pub fn parse_size(text: &str) -> Result<Self, Refusal> {
        parse_terminal_size(text).map(Self::Size)
    }

    /// The bytes of this input for a terminal or a pipe; none for the end of input and for a size, whose effect depends on
    /// whether the job has a terminal. `bracketed` and `application_arrows` are modes that the terminal's program has switched
    /// on.
    pub fn bytes(&self, bracketed: bool, application_arrows: bool) -> Vec<u8> {
        match self {
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Key(name) => terminal_keys::bytes_in_mode(name, application_arrows),
            // A paste cannot end itself from within: nothing in it begins a sequence.
            Self::Paste(text) if bracketed => {
                let text = text.replace(['\u{1b}', '\u{9b}'], "");
                [BRACKETED_PASTE.0, text.as_bytes(), BRACKETED_PASTE.1].concat()
            }
            Self::Paste(text) => text.as_bytes().to_vec(),
            Self::Hex(bytes) => bytes.clone(),
            Self::Eof | Self::Size(_) => Vec::new(),
        }
    }
}

/// Parses a terminal's size as `ROWSxCOLS`.
/// Fails with [`Refusal::Usage`] when no terminal can have it.
pub fn parse_terminal_size(text: &str) -> Result<TerminalSize, Refusal> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && (1..=MAX_TERMINAL_DIMENSION).contains(number))
    };
    let read = || {
        let (rows, cols) = text.split_once('x')?;
        Some(TerminalSize { rows: number(rows)?, cols: number(cols)? })
    };
    read().ok_or_else(|| Refusal::Usage {
        why: format!(
            "'{}' is not a size; use ROWSxCOLS such as 24x80, each from 1 to {MAX_TERMINAL_DIMENSION}",
            excerpt(text)
        ),
    })
}

/// Refuses an empty list, more bytes than one call may type, and any input after the end of input.
/// Fails with [`Refusal::Usage`].
pub fn check(inputs: &[TerminalInput]) -> Result<(), Refusal> {
    let usage = |why: String| Err(Refusal::Usage { why });
    if inputs.is_empty() {
        return usage("nothing to type: name keys, or give a text".into());
    }
    let bytes: usize = inputs.iter().map(|input| input.bytes(true, false).len()).sum();
    if bytes > MAX_INPUT_BYTES {
        return usage(format!("input of {bytes} bytes is too long; the limit of one call is {MAX_INPUT_BYTES}"));
    }
    if inputs.iter().rev().skip(1).any(|input| *input == TerminalInput::Eof) {
        return usage("nothing can be typed after the end of input".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hex_and_sizes_are_strict_and_texts_are_not() {
        assert_eq!(TerminalInput::parse_key("C-c").unwrap().bytes(false, false), b"\x03");
        assert_eq!(TerminalInput::parse_key("Up").unwrap().bytes(false, true), b"\x1bOA");
        for word in ["Entr", "", "ctrl-c", "yes", "\u{1b}"] {
            let error = TerminalInput::parse_key(word).unwrap_err().to_string();
            assert!(error.contains("is not a key") && !error.contains('\u{1b}'), "{error}");
        }
        assert_eq!(TerminalInput::parse_hex("1B 5b41").unwrap(), TerminalInput::Hex(vec![0x1b, 0x5b, 0x41]));
        for text in ["", " ", "1", "1b5", "0x1b", "zz", "é0", "1 b"] {
            assert!(TerminalInput::parse_hex(text).is_err(), "{text}");
        }
        assert_eq!(parse_terminal_size("50x132").unwrap(), TerminalSize { rows: 50, cols: 132 });
        for text in ["", "50", "50x", "x50", "0x80", "24x0", "24x80x1", "-1x80", "+1x80", "24X80", "24x99999", " 24x80"]
        {
            assert!(parse_terminal_size(text).is_err(), "{text}");
        }
        assert_eq!(TerminalInput::Text("Enter".into()).bytes(true, true), b"Enter");
    }

    #[test]
    fn paste_is_bracketed_where_the_program_asks_and_cannot_end_itself() {
        let paste = TerminalInput::Paste("a\x1b[20\x1b[201~1~\u{9b}201~rm\r".into());
        assert_eq!(paste.bytes(true, false), b"\x1b[200~a[20[201~1~201~rm\r\x1b[201~");
        assert_eq!(TerminalInput::Paste("a\x1b[201~\r".into()).bytes(false, false), b"a\x1b[201~\r");
    }

    #[test]
    fn input_that_is_too_long_or_follows_the_end_is_refused() {
        assert!(check(&[]).is_err());
        assert!(check(&[TerminalInput::Eof]).is_ok());
        assert!(check(&[TerminalInput::Eof, TerminalInput::Text("x".into())]).is_err());
        assert!(check(&[TerminalInput::Text("x".repeat(MAX_INPUT_BYTES))]).is_ok());
        assert!(check(&[TerminalInput::Text("x".repeat(MAX_INPUT_BYTES)), TerminalInput::Text("x".into())]).is_err());
    }
}
