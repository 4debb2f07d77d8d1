//! Where a text stands while it runs: the directories that it may have changed to.

use super::arg::Arg;

/// The most ways that are followed.
const MAX_WAYS: usize = 32;

/// The directories that the shell may be in, each as the changes of directory since the text began.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::guard) struct Place {
    /// Each possible way; the empty one is where the text began.
    pub ways: Vec<Vec<String>>,
    /// Whether it may be anywhere.
    pub is_lost: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self { ways: vec![Vec::new()], is_lost: false }
    }
}

impl Place {
    /// An unknown place: the shell may be in any directory.
    pub fn lost() -> Self {
        Self { is_lost: true, ..Self::default() }
    }

    /// The steps that the budget counts for a copy of this value.
    pub fn size(&self) -> usize {
        1 + self.ways.iter().map(|way| 1 + way.len()).sum::<usize>()
    }

    /// The place after a change to `directory`; lost when the directory is not known.
    pub fn changed_to(&self, directory: &Arg) -> Self {
        let Some(words) = directory.candidates() else { return Self { is_lost: true, ..self.clone() } };
        let ways = self.ways.iter().flat_map(|way| {
            words.iter().map(move |word| {
                if word.starts_with('/') {
                    return vec![word.clone()];
                }
                way.iter().chain([word]).cloned().collect()
            })
        });
        Self { ways: ways.collect(), is_lost: self.is_lost }.limited()
    }

    /// The union of two places: the shell may be at either of them.
    pub fn or(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let more = other.ways.iter().filter(|way| !self.ways.contains(way));
        let ways = self.ways.iter().chain(more).cloned().collect();
        Self { ways, is_lost: self.is_lost || other.is_lost }.limited()
    }

    fn limited(mut self) -> Self {
        if self.ways.len() > MAX_WAYS || self.ways.iter().any(|way| way.len() > MAX_WAYS) {
            self.is_lost = true;
            self.ways = vec![Vec::new()];
        }
        self
    }
}
