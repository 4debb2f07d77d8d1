//! The terminal modes that a program has requested, as far as they change its input. They are read from its output, which may be
//! cut anywhere.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TerminalModes {
    /// Whether the program distinguishes a paste from typing (mode 2004).
    pub bracketed_paste: bool,
    /// Whether arrow keys are sent in their other form (mode 1).
    pub application_cursor_keys: bool,
    state: ParserState,
}

/// How much of a sequence `ESC [ ? numbers h` the output ends with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ParserState {
    #[default]
    Text,
    Escape,
    Bracket,
    /// The number that is being read, and whether the two modes occurred before it in the sequence.
    Number {
        number: u16,
        paste: bool,
        arrows: bool,
    },
}

impl TerminalModes {
    /// Updates the modes from the next bytes of the program's output.
    pub fn update(&mut self, printed: &[u8]) {
        for byte in printed {
            self.state = match (self.state, byte) {
                (_, 0x1b) => ParserState::Escape,
                (ParserState::Escape, b'[') => ParserState::Bracket,
                // A full reset.
                (ParserState::Escape, b'c') => {
                    (self.bracketed_paste, self.application_cursor_keys) = (false, false);
                    ParserState::Text
                }
                (ParserState::Bracket, b'?') => ParserState::Number { number: 0, paste: false, arrows: false },
                (ParserState::Number { number, paste, arrows }, b'0'..=b'9') => {
                    let number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                    ParserState::Number { number, paste, arrows }
                }
                (ParserState::Number { number, paste, arrows }, b';' | b'h' | b'l') => {
                    let (paste, arrows) = (paste || number == 2004, arrows || number == 1);
                    if *byte == b';' {
                        ParserState::Number { number: 0, paste, arrows }
                    } else {
                        let on = *byte == b'h';
                        self.bracketed_paste = if paste { on } else { self.bracketed_paste };
                        self.application_cursor_keys = if arrows { on } else { self.application_cursor_keys };
                        ParserState::Text
                    }
                }
                _ => ParserState::Text,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_seen_wherever_the_text_is_cut() {
        let text = b"a\x1b[?2004hb\x1b[?1;25hc\x1b[2004l\x1b[?20041l\x1b[?12004l";
        for cut in 0..=text.len() {
            let mut modes = TerminalModes::default();
            modes.update(&text[..cut]);
            modes.update(&text[cut..]);
            assert_eq!((modes.bracketed_paste, modes.application_cursor_keys), (true, true), "{cut}");
            modes.update(b"\x1b[?25;2004l");
            assert_eq!((modes.bracketed_paste, modes.application_cursor_keys), (false, true), "{cut}");
            modes.update(b"\x1b[?2004h\x1bc");
            assert_eq!((modes.bracketed_paste, modes.application_cursor_keys), (false, false), "{cut}");
        }
    }
}
