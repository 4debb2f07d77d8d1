//! What a use case tells while it runs. The command line shows it; others are not told.

use std::fmt;
use std::sync::Arc;

/// A text for the person who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling<'a> {
    /// Worth a line of its own.
    Note(&'a str),
    /// How far it is, in place of the text before; empty at the end.
    State(&'a str),
}

type Show = dyn Fn(Telling<'_>) + Send + Sync;

#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Show>>);

impl Progress {
    pub fn shown_by(show: impl Fn(Telling<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(show)))
    }

    pub fn note(&self, text: &str) {
        self.tell(Telling::Note(text));
    }

    pub fn state(&self, text: &str) {
        self.tell(Telling::State(text));
    }

    fn tell(&self, telling: Telling<'_>) {
        if let Some(show) = &self.0 {
            show(telling);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
