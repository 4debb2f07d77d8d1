//! A search for text over tasks, records, messages and transcripts, newest first.

mod hit;
mod query;
mod transcripts;

pub use crate::store::search::SearchScope;
pub use query::{MAX_LIMIT, SearchQuery, SearchResult, search};
