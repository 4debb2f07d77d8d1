//! A word that is put together from its parts, with every text that it may have.

use super::arg::{Arg, Expansion};

/// The most words that one word is followed into.
pub(super) const MAX_WORDS: usize = 64;

/// The word that is being put together.
#[derive(Default)]
pub(super) struct WordBuilder {
    pub(super) head: String,
    tail: String,
    pub(super) form: Option<Expansion>,
    /// Every word so far, when that is known. Nothing is kept here before the first expansion.
    words: Option<Vec<String>>,
}

impl WordBuilder {
    pub(super) fn push(&mut self, character: char) {
        if self.form.is_none() {
            return self.head.push(character);
        }
        self.tail.push(character);
        self.words.iter_mut().flatten().for_each(|word| word.push(character));
    }

    pub(super) fn push_str(&mut self, text: &str) {
        text.chars().for_each(|character| self.push(character));
    }

    pub(super) fn push_unknown(&mut self, form: Expansion) {
        self.push_one_of(form, None);
    }

    /// Appends an expansion that becomes one of `more`, or unknown text when `more` is `None`.
    pub(super) fn push_one_of(&mut self, form: Expansion, more: Option<&[String]>) {
        let before = if self.form.is_none() { Some(vec![self.head.clone()]) } else { self.words.take() };
        self.words = match (before, more) {
            (Some(before), Some(more)) if before.len() * more.len() <= MAX_WORDS => {
                Some(before.iter().flat_map(|start| more.iter().map(move |end| format!("{start}{end}"))).collect())
            }
            _ => None,
        };
        self.form = Some(self.form.map_or(form, |known| known.max(form)));
        self.tail.clear();
    }

    /// Appends a file name pattern. It matches no slash, and neither `.` nor `..` unless a dot stands before it.
    pub(super) fn push_pattern(&mut self) {
        let ends_in_dots = |word: &String| {
            let last = word.rsplit('/').next().unwrap_or_default();
            !last.is_empty() && last.chars().all(|character| character == '.')
        };
        let is_plain = match (&self.form, &self.words) {
            (None, _) => !ends_in_dots(&self.head),
            (Some(_), Some(words)) => !words.iter().any(ends_in_dots),
            (Some(_), None) => false,
        };
        let any = ["*".to_owned()];
        self.push_one_of(Expansion::Many, is_plain.then_some(&any));
    }

    /// Appends the value of a variable. `is_open` means that the expansion is not in quotes, so that the shell may split it
    /// into words.
    pub(super) fn push_value(&mut self, value: &Arg, is_open: bool) {
        let is_word = |text: &str| !text.is_empty() && !text.contains([' ', '\t', '\n', '*', '?', '[', '~']);
        match value {
            Arg::Known(text) if !is_open || is_word(text) => self.push_str(text),
            Arg::Known(_) => self.push_unknown(Expansion::Any),
            Arg::Unknown { form, head, words, .. } => {
                if self.form.is_none() && !is_open {
                    self.push_one_of(*form.min(&Expansion::One), words.as_deref());
                    self.head.push_str(head);
                } else {
                    self.push_one_of(if is_open { Expansion::Any } else { Expansion::One }, words.as_deref());
                }
            }
        }
    }

    /// The total length in bytes of the words that this word may become, which is the cost of a copy.
    pub(super) fn size(&self) -> usize {
        self.words.iter().flatten().map(String::len).sum()
    }

    pub(super) fn finish(self) -> Arg {
        match self.form {
            None => Arg::Known(self.head),
            Some(form) => Arg::Unknown { head: self.head, tail: self.tail, form, words: self.words.map(Into::into) },
        }
    }
}
