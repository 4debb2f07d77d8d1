//! The recorded shape of a dialog that an agent's program shows with numbered choices: how it is known, and which keys choose.

use super::section::layered_section;
use crate::domain::rules::dialog::{DialogShape, SubjectPlace};

layered_section! {
    /// A dialog of a provider: a section `[providers.NAME.permission_dialog]` or `[providers.NAME.choice_dialog]`.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct DialogProfile {
        /// The question that it asks; none where that is the agent's own.
        #[sample("Do you want to proceed?")]
        pub question: Option<String>,
        /// The beginning of the last line of the screen.
        #[sample("Esc to cancel")]
        pub end: Option<String>,
        /// The beginnings of the lines right above and right below what it is about; without the second its choices follow.
        #[sample(["╌╌╌╌", "╌╌╌╌"])]
        pub between: Option<Vec<String>>,
        /// The beginning of the first line of what it is about, where no lines stand around it.
        #[sample("  $ ")]
        pub behind: Option<String>,
        /// The texts of the choice that allows a call.
        #[sample(["Yes"])]
        pub allow: Option<Vec<String>>,
        /// The texts of the choice that denies a call.
        #[sample(["No"])]
        pub deny: Option<Vec<String>>,
        /// The keys that take a choice, in tmux's names; {number} stands for its number.
        #[sample(["{number}"])]
        pub keys: Option<Vec<String>>,
    }
}

impl DialogProfile {
    /// Its shape; `None` when it is not described.
    pub fn shape(&self) -> Option<DialogShape<'_>> {
        let between = self.between.as_deref().unwrap_or_default();
        let subject = match (&self.behind, between) {
            (Some(mark), []) => SubjectPlace::Behind(mark),
            (None, [before]) => SubjectPlace::Between(before, ""),
            (None, [before, after]) => SubjectPlace::Between(before, after),
            _ => return None,
        };
        let question = self.question.as_deref().unwrap_or_default();
        Some(DialogShape { question, end: self.end.as_deref()?, subject })
    }

    /// The keys that take the choice of a number. A number of two digits would be two keys.
    pub fn keys_of(&self, number: usize) -> Option<Vec<String>> {
        let keys = self.keys.as_deref().filter(|keys| !keys.is_empty() && (1..10).contains(&number))?;
        Some(keys.iter().map(|key| key.replace("{number}", &number.to_string())).collect())
    }
}
