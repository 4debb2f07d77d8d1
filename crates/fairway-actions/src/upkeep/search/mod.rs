//! A search for text over tasks, records, messages and transcripts, newest first.

use anyhow::Result;

use self::hit::{Hit, keep_newest, view};
use crate::App;
use crate::core::inside_session;
use fairway_core::domain::Refusal;
use fairway_core::domain::message::Recipient;
use fairway_core::domain::search::{SearchKind, TextMatcher};
pub use fairway_core::store::search::SearchScope;
use fairway_core::store::search::{self, SearchRow};
use fairway_core::wire::SearchHitView;

mod hit;
mod transcripts;

pub const MAX_LIMIT: usize = 100_000;

#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub text: String,
    pub is_regex: bool,
    /// The kinds of hits; empty for all.
    pub kinds: Vec<SearchKind>,
    pub scope: SearchScope,
    pub limit: usize,
}

#[derive(Debug, Clone, Default)]
pub struct SearchResult {
    /// The hits, newest first.
    pub hits: Vec<SearchHitView>,
    /// The transcripts that cannot be read, each with the reason.
    pub unreadable: Vec<String>,
}

/// Searches tasks, messages and transcripts. Only the hits are kept in memory. A session does not find messages to people,
/// because their inbox is not shown to a session either.
///
/// # Errors
/// `invalid_value` for the text or the limit; errors of the store.
pub fn search(app: &App, query: &SearchQuery) -> Result<SearchResult> {
    let matcher = TextMatcher::new(&query.text, query.is_regex).map_err(|why| Refusal::invalid("text", why))?;
    if query.limit == 0 || query.limit > MAX_LIMIT {
        return Err(Refusal::invalid("limit", format!("must be 1 to {MAX_LIMIT}, not {}", query.limit)).into());
    }
    let wants = |kind: SearchKind| query.kinds.is_empty() || query.kinds.contains(&kind);
    let hides_people = wants(SearchKind::Message) && (app.actor.session.is_some() || inside_session::is_inside(app));
    let mut hits = app.read(|tx| {
        let mut hits = Vec::new();
        for kind in SearchKind::ALL.iter().copied().filter(|kind| wants(*kind)) {
            let mut found = 0;
            search::for_each(tx, kind, &query.scope, |row| {
                if let Some(hit) = hit(kind, &row, &matcher, hides_people) {
                    hits.push(hit);
                    found += 1;
                }
                found < query.limit
            })?;
            keep_newest(&mut hits, query.limit);
        }
        Ok(hits)
    })?;
    let mut unreadable = Vec::new();
    if wants(SearchKind::Transcript) {
        let rows = app.read(|tx| Ok(search::transcripts(tx, &query.scope)?))?;
        transcripts::search(app, &rows, &matcher, query.limit, &mut hits, &mut unreadable);
    }
    keep_newest(&mut hits, query.limit);
    Ok(SearchResult { hits: hits.into_iter().map(|hit| hit.view).collect(), unreadable })
}

fn hit(kind: SearchKind, row: &SearchRow, matcher: &TextMatcher, hides_people: bool) -> Option<Hit> {
    let person = row.session.as_deref().filter(|_| kind == SearchKind::Message).and_then(Recipient::person_of_key);
    if hides_people && person.is_some() {
        return None;
    }
    let (field, found) = row.texts.iter().find_map(|(field, text)| Some((field, matcher.find(text)?)))?;
    let view = view(kind, row.id.clone(), row.at, field, found);
    let session_id = row.session.clone().filter(|_| person.is_none());
    let view = SearchHitView { task_id: row.task.clone(), lane: row.lane.clone(), actor: row.actor.clone(), ..view };
    Some(Hit { at: row.at, view: SearchHitView { session_id, ..view } })
}
