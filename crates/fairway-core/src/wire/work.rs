//! The JSON of `work`.

use serde::Serialize;

use crate::domain::rules::work::{News, NewsKind};
use crate::env::Timestamp;

/// An event of `work`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WorkEventView {
    /// The time.
    pub at: Timestamp,
    /// Its kind.
    pub event: NewsKind,
    /// The task.
    pub task_id: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// The lane of a started task.
    pub lane: Option<String>,
    /// The event as a sentence.
    pub text: String,
    /// How many places are taken after it.
    pub taken: usize,
    /// How many places there are.
    pub places: usize,
}

impl WorkEventView {
    pub fn new(news: &News, at: Timestamp) -> Self {
        Self {
            at,
            event: news.kind,
            task_id: news.task.as_ref().map(ToString::to_string),
            session_id: news.session.as_ref().map(ToString::to_string),
            lane: news.lane.as_ref().map(ToString::to_string),
            text: news.text.clone(),
            taken: news.taken,
            places: news.places,
        }
    }
}
