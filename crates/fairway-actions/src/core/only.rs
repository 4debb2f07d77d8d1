//! The thing that a command means when none is named: the only one that fits.

use std::fmt::Display;

use fairway_core::domain::Refusal;

/// What a command may mean, and the words for it.
#[derive(Debug)]
pub struct Choice<'a, T> {
    pub found: &'a [T],
    pub noun: &'static str,
    /// What those that fit do, such as `run`.
    pub fits: &'static str,
    /// The sentence for none, and what to do then.
    pub none: (&'static str, &'static str),
}

impl<T: Clone + Display> Choice<'_, T> {
    /// The only one. `name_one` is the purpose and the command that names one of several.
    ///
    /// # Errors
    /// `usage` when there are several, or none.
    pub fn only(&self, name_one: impl FnOnce(&T) -> String) -> Result<T, Refusal> {
        let (why, hint) = match self.found {
            [only] => return Ok(only.clone()),
            [] => (self.none.0.to_owned(), self.none.1.to_owned()),
            [first, ..] => {
                let names: Vec<String> = self.found.iter().map(ToString::to_string).collect();
                (format!("which {}? {} {}: {}", self.noun, names.len(), self.fits, names.join(", ")), name_one(first))
            }
        };
        Err(Refusal::ArgumentMissing { why, hint })
    }
}
