//! A task's history in short: its newest events, and the ends of its claimants' sessions.

use anyhow::Result;

use super::event_text;
use crate::{
    domain::{EventKind, SessionId, TaskId},
    store::{
        ReadTx, claims,
        events::{self, LoggedEvent},
    },
    wire::TimelineEntryView,
};

/// The maximum number of entries.
pub(super) const MAX_ENTRIES: usize = 20;
/// The maximum number of claims whose sessions are looked at.
const MAX_CLAIMS: usize = 10;

/// The newest entries of a task's history, oldest first, and whether there are earlier ones.
pub(super) fn newest(tx: &ReadTx<'_>, task: &TaskId) -> Result<(Vec<TimelineEntryView>, bool)> {
    let mut found: Vec<LoggedEvent> = Vec::new();
    let mut claimants = Vec::new();
    for claim in claims::history(tx, task)?.into_iter().take(MAX_CLAIMS) {
        let Ok(session) = SessionId::parse(&claim.claimant) else { continue };
        let mut of_session = Vec::new();
        events::for_each_of_session(tx, &session, is_fate, |event| {
            let is_in_claim = event.at >= claim.claimed_at && claim.ended.is_none_or(|(until, _)| event.at <= until);
            let is_before = event.at < claim.claimed_at;
            if is_in_claim {
                of_session.push(event);
            }
            Ok(!is_before && of_session.len() <= MAX_ENTRIES)
        })?;
        found.extend(of_session);
        claimants.push(session);
    }
    let mut of_task = 0;
    events::for_each_of_task(tx, task, event_text::is_entry, |event| {
        let repeats = is_repeated_by_session(&event, &claimants);
        if !repeats && !found.iter().any(|other| other.seq == event.seq) {
            found.push(event);
            of_task += 1;
        }
        Ok(of_task <= MAX_ENTRIES)
    })?;
    found.sort_by_key(|event| std::cmp::Reverse(event.seq));
    found.dedup_by_key(|event| event.seq);
    let has_earlier = found.len() > MAX_ENTRIES;
    found.truncate(MAX_ENTRIES);
    let entries = found.into_iter().rev().map(|event| TimelineEntryView {
        seq: event.seq,
        at: event.at.to_string(),
        message: event_text::entry(&event),
        kind: event.kind,
        actor: event.actor,
        session_id: event.session,
    });
    Ok((entries.collect(), has_earlier))
}

/// Whether it tells what became of a session.
const fn is_fate(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::SessionStale | EventKind::SessionRevived | EventKind::SessionEnded | EventKind::SessionFailed
    )
}

/// Whether an event is the checkpoint of a stale claimant, whose own event is an entry already.
fn is_repeated_by_session(event: &LoggedEvent, claimants: &[SessionId]) -> bool {
    event.data.get("origin").and_then(|origin| origin.as_str()) == Some("reconcile")
        && event.session.as_deref().is_some_and(|session| claimants.iter().any(|id| id.as_str() == session))
}
