//! What a program asked of its terminal, as far as it changes what is typed to it: read from what it prints, wherever that
//! is cut.

/// A terminal's modes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes {
    /// A paste is to be told from typing (mode 2004).
    pub bracketed: bool,
    /// Arrows are sent in their other form (mode 1).
    pub application_arrows: bool,
    at: At,
}

/// How far into `ESC [ ? numbers h` what was printed last has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Text,
    Escape,
    Bracket,
    /// The number that is being read, and which of the two were read before it in the same sequence.
    Number {
        number: u16,
        paste: bool,
        arrows: bool,
    },
}

impl Modes {
    /// Takes note of what was printed.
    pub fn see(&mut self, printed: &[u8]) {
        for byte in printed {
            self.at = match (self.at, byte) {
                (_, 0x1b) => At::Escape,
                (At::Escape, b'[') => At::Bracket,
                // A full reset.
                (At::Escape, b'c') => {
                    (self.bracketed, self.application_arrows) = (false, false);
                    At::Text
                }
                (At::Bracket, b'?') => At::Number { number: 0, paste: false, arrows: false },
                (At::Number { number, paste, arrows }, b'0'..=b'9') => {
                    let number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                    At::Number { number, paste, arrows }
                }
                (At::Number { number, paste, arrows }, b';' | b'h' | b'l') => {
                    let (paste, arrows) = (paste || number == 2004, arrows || number == 1);
                    if *byte == b';' {
                        At::Number { number: 0, paste, arrows }
                    } else {
                        let on = *byte == b'h';
                        self.bracketed = if paste { on } else { self.bracketed };
                        self.application_arrows = if arrows { on } else { self.application_arrows };
                        At::Text
                    }
                }
                _ => At::Text,
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
            let mut modes = Modes::default();
            modes.see(&text[..cut]);
            modes.see(&text[cut..]);
            assert_eq!((modes.bracketed, modes.application_arrows), (true, true), "{cut}");
            modes.see(b"\x1b[?25;2004l");
            assert_eq!((modes.bracketed, modes.application_arrows), (false, true), "{cut}");
            modes.see(b"\x1b[?2004h\x1bc");
            assert_eq!((modes.bracketed, modes.application_arrows), (false, false), "{cut}");
        }
    }
}
