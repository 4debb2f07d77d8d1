//! A hit of a search, with its time.

use fairway_core::domain::search::{MatchExcerpt, SearchKind};
use fairway_core::env::Timestamp;
use fairway_core::wire::SearchHitView;

#[derive(Debug)]
pub(super) struct Hit {
    pub(super) at: Timestamp,
    pub(super) view: SearchHitView,
}

/// Sorts the hits, newest first, and drops those above the limit.
pub(super) fn keep_newest(hits: &mut Vec<Hit>, limit: usize) {
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.at));
    hits.truncate(limit);
}

/// A hit whose task, session, lane and actor the caller fills in.
pub(super) fn view(kind: SearchKind, id: String, at: Timestamp, field: &str, found: MatchExcerpt) -> SearchHitView {
    SearchHitView {
        kind,
        id,
        task_id: None,
        session_id: None,
        lane: None,
        actor: None,
        at: at.to_string(),
        field: field.to_owned(),
        excerpt: found.text,
        match_start: found.range.start,
        match_end: found.range.end,
        path: None,
        line: None,
    }
}
