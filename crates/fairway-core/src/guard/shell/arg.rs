//! A word of a command, as far as it can be told without running a shell.

use std::rc::Rc;

/// The result of an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::guard) enum Expansion {
    /// Exactly one word.
    One,
    /// One or more words, all with the same beginning.
    Many,
    /// Any words, or none.
    Any,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::guard) enum Arg {
    /// This very word.
    Known(String),
    /// A word that only the shell will know.
    Unknown {
        /// Its beginning.
        head: String,
        /// Its end.
        tail: String,
        /// The number of words that it may become.
        form: Expansion,
        /// Every word that it may become, when that is known: a `*` stands for characters without a slash.
        words: Option<Rc<[String]>>,
    },
}

impl Arg {
    pub fn known(text: impl Into<String>) -> Self {
        Self::Known(text.into())
    }

    /// Any number of unknown words, or none.
    pub fn anything() -> Self {
        Self::Unknown { head: String::new(), tail: String::new(), form: Expansion::Any, words: None }
    }

    /// One word of which only the beginning is known.
    pub fn starting_with(head: &str) -> Self {
        Self::Unknown { head: head.to_owned(), tail: String::new(), form: Expansion::One, words: None }
    }

    /// One or more words, as `form` says, each of which is one of `words`. A `*` in them stands for any characters but a slash.
    pub fn one_of(words: Vec<String>, form: Expansion) -> Self {
        match words.as_slice() {
            [word] if form == Expansion::One && !word.contains('*') => Self::Known(word.clone()),
            _ => Self::Unknown { head: common_start(&words), tail: String::new(), form, words: Some(words.into()) },
        }
    }

    /// Every word that this argument may become; `None` when that is not known.
    pub fn candidates(&self) -> Option<Vec<String>> {
        match self {
            Self::Known(text) => Some(vec![text.clone()]),
            Self::Unknown { words, .. } => words.as_ref().map(|words| words.to_vec()),
        }
    }

    /// The word without its beginning. `rest` must be the end of [`Self::head`]; all before it is cut off.
    pub fn with_head(&self, rest: &str) -> Self {
        match self {
            Self::Known(_) => Self::known(rest),
            Self::Unknown { head, tail, form, words } => {
                let cut = head.len() - rest.len();
                let words = words.as_ref().and_then(|words| {
                    words.iter().map(|word| word.get(cut..).map(str::to_owned)).collect::<Option<Vec<_>>>()
                });
                Self::Unknown { head: rest.to_owned(), tail: tail.clone(), form: *form, words: words.map(Into::into) }
            }
        }
    }

    /// The word with `start` put before it.
    pub fn behind(self, start: &str) -> Self {
        match self {
            Self::Known(text) => Self::Known(format!("{start}{text}")),
            Self::Unknown { head, tail, form, words } => {
                let words = words.map(|words| words.iter().map(|word| format!("{start}{word}")).collect());
                Self::Unknown { head: format!("{start}{head}"), tail, form, words }
            }
        }
    }

    /// The text of the word; `None` when it has an expansion, whose value only the shell knows.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Unknown { .. } => None,
        }
    }

    /// The beginning of the word, as far as it is certain: the whole word when it is known.
    pub fn head(&self) -> &str {
        match self {
            Self::Known(text) => text,
            Self::Unknown { head, .. } => head,
        }
    }

    /// Whether this argument may become several words or none.
    pub const fn may_split(&self) -> bool {
        matches!(self, Self::Unknown { form: Expansion::Any, .. })
    }

    /// Whether this argument is exactly one word, known or not.
    pub const fn is_single_word(&self) -> bool {
        matches!(self, Self::Known(_) | Self::Unknown { form: Expansion::One, .. })
    }

    /// Whether this argument may become an option, or several words with an option among them.
    pub fn may_be_option(&self) -> bool {
        match self {
            Self::Known(text) => text.starts_with(['-', '+']),
            Self::Unknown { head, form, .. } => {
                *form == Expansion::Any || head.is_empty() || head.starts_with(['-', '+'])
            }
        }
    }

    /// The name of the program that this word starts when it is the first word of a command, in the form of [`plain_name`].
    /// `None` when it cannot be determined.
    pub fn program(&self) -> Option<String> {
        let word = match self {
            // `=git` is where one shell finds git.
            Self::Known(text) => text.strip_prefix('=').unwrap_or(text),
            Self::Unknown { tail, form: Expansion::One, .. } if tail.contains('/') => tail,
            Self::Unknown { .. } => return None,
        };
        Some(plain_name(base_name(word)))
    }

    /// The word for display in a command line: in quotes when it is empty or has blanks or quotes.
    pub fn quoted(&self) -> String {
        let text = self.display();
        if text.is_empty()
            || text.contains(|character: char| character.is_whitespace() || matches!(character, '\'' | '"'))
        {
            return shell_words::quote(&text).into_owned();
        }
        text
    }

    /// The word for display, with `…` in the place of the unknown part.
    pub fn display(&self) -> String {
        match self {
            Self::Known(text) => text.clone(),
            Self::Unknown { head, tail, .. } => format!("{head}…{tail}"),
        }
    }
}

/// A program's name in the form in which names are compared: in lower case, without `.exe`, `.cmd`, `.bat` or `-cli.js` at its
/// end, and without `@VERSION`. `R` and `Rscript` stay as they are.
pub(in crate::guard) fn plain_name(name: &str) -> String {
    // Two languages, of which the other is something else.
    if matches!(name, "R" | "Rscript") {
        return name.to_owned();
    }
    let name = name.to_ascii_lowercase();
    let name = [".exe", ".cmd", ".bat"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    // `npx npm@latest`, `node …/npm-cli.js`
    let name = name.split_once('@').map_or(name, |(before, _)| if before.is_empty() { name } else { before });
    name.strip_suffix("-cli.js").unwrap_or(name).to_owned()
}

/// The last part of a path; slashes at its end are ignored.
pub(in crate::guard) fn base_name(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word)
}

/// The common beginning of all words, up to where they are no longer known.
fn common_start(words: &[String]) -> String {
    let known = |word: &String| word.split('*').next().unwrap_or_default().to_owned();
    let mut start = words.first().map(known).unwrap_or_default();
    for word in words.iter().skip(1).map(known) {
        while !word.starts_with(&start) {
            start.pop();
        }
    }
    start
}
