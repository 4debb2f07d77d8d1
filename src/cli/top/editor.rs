//! A line that is typed.

use super::key::Key;

/// The longest text, in bytes.
const MAX_LENGTH: usize = 32 << 10;

/// A text with a cursor. Positions are characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Editor {
    before: Vec<char>,
    /// The text after the cursor, reversed.
    after: Vec<char>,
}

impl Editor {
    /// Creates an editor whose cursor is at the end of `text`.
    pub(super) fn new(text: &str) -> Self {
        Self { before: text.chars().collect(), after: Vec::new() }
    }

    pub(super) fn text(&self) -> String {
        self.before.iter().chain(self.after.iter().rev()).collect()
    }

    pub(super) fn parts(&self) -> (String, String) {
        (self.before.iter().collect(), self.after.iter().rev().collect())
    }

    /// Applies a key to the text. Returns false when the key has no meaning here.
    pub(super) fn take(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(character) => self.insert(*character),
            Key::Paste(text) => text.replace("\r\n", "\n").chars().for_each(|character| self.insert(character)),
            Key::Backspace => drop(self.before.pop()),
            Key::Delete => drop(self.after.pop()),
            Key::Left => self.after.extend(self.before.pop()),
            Key::Right => self.before.extend(self.after.pop()),
            Key::Home | Key::Ctrl('a') => {
                while let Some(character) = self.before.pop() {
                    self.after.push(character);
                }
            }
            Key::End | Key::Ctrl('e') => {
                while let Some(character) = self.after.pop() {
                    self.before.push(character);
                }
            }
            Key::Ctrl('u') => self.before.clear(),
            Key::Ctrl('k') => self.after.clear(),
            Key::Ctrl('w') => {
                while self.before.last().is_some_and(|character| character.is_whitespace()) {
                    self.before.pop();
                }
                while self.before.last().is_some_and(|character| !character.is_whitespace()) {
                    self.before.pop();
                }
            }
            _ => return false,
        }
        true
    }

    fn insert(&mut self, character: char) {
        let is_kept = !character.is_control() || matches!(character, '\n' | '\t');
        if is_kept && self.before.len() + self.after.len() < MAX_LENGTH / 4 {
            self.before.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_the_line() {
        let mut editor = Editor::new("ab cd");
        for key in [Key::Left, Key::Backspace, Key::Char('ä'), Key::Home, Key::Char('>'), Key::End, Key::Char('!')] {
            assert!(editor.take(&key));
        }
        assert_eq!(editor.text(), ">ab äd!");
        editor.take(&Key::Ctrl('w'));
        assert_eq!(editor.text(), ">ab ");
        editor.take(&Key::Paste("x\r\n\u{1b}y".into()));
        assert_eq!(editor.parts(), (">ab x\ny".into(), String::new()));
        editor.take(&Key::Ctrl('u'));
        assert_eq!(editor.text(), "");
        assert!(!editor.take(&Key::Enter));
    }
}
