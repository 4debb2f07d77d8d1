//! A reader of single characters.

/// The characters of a word, and the place that was read up to.
pub(super) struct CharReader<'a> {
    pub(super) chars: &'a [char],
    pub(super) at: usize,
}

impl CharReader<'_> {
    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let character = self.peek(0)?;
        self.at += 1;
        Some(character)
    }

    /// The number of characters that are not yet read.
    pub(super) fn left(&self) -> usize {
        self.chars.len().saturating_sub(self.at)
    }

    pub(super) fn text(&self, from: usize, to: usize) -> String {
        self.chars.get(from..to).unwrap_or_default().iter().collect()
    }
}
