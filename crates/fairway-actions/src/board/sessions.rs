//! The sessions of the board, kept up to date: a row is read again when its stamp or an event says that it has changed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::changed_subjects::News;
use super::watched_processes::Watches;
use crate::core::session_overview::{self, SessionScope};
use fairway_core::domain::SessionId;
use fairway_core::domain::session::Session;
use fairway_core::domain::session_facts::{HeldTask, SessionOverview};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, overview, sessions};

/// Brings the sessions up to date: those that are not final, and final ones with a claim, oldest first. Returns the ids
/// of those that may have changed.
pub(super) fn advance(
    known: &mut Vec<SessionOverview>,
    tx: &ReadTx<'_>,
    held: &[HeldTask],
    news: &News,
    now: Timestamp,
    watches: &mut Watches,
) -> Result<BTreeSet<SessionId>> {
    let before = std::mem::take(known);
    let ends: BTreeMap<SessionId, (bool, Option<Timestamp>)> =
        before.iter().map(|one| (one.session.id.clone(), (one.is_over(), one.noticed_at))).collect();
    let (mut same, rows) = if news.everything {
        (Vec::new(), session_overview::rows(tx, SessionScope::LiveAndHolding, held)?)
    } else {
        sorted_out(before, tx, held, news, watches)?
    };
    let changed = rows.iter().map(|session| session.id.clone()).collect();
    for session in &rows {
        watches.begin(session);
    }
    let mut judged = session_overview::with_facts(tx, rows, held)?;
    for one in &mut judged {
        let is_unrecorded = one.is_over() && one.session.ended_at.is_none();
        if let (true, Some(earlier)) = (is_unrecorded, ends.get(&one.session.id)) {
            one.noticed_at = if earlier.0 { earlier.1 } else { Some(now) };
        }
        watches.settle(one);
    }
    same.extend(judged);
    same.sort_by(|a, b| (a.session.started_at, &a.session.id).cmp(&(b.session.started_at, &b.session.id)));
    *known = same;
    let ids: BTreeSet<&SessionId> = known.iter().map(|one| &one.session.id).collect();
    watches.retain(|id| ids.contains(id));
    Ok(changed)
}

/// Splits the sessions: those without a change, and the rows of the others.
fn sorted_out(
    before: Vec<SessionOverview>,
    tx: &ReadTx<'_>,
    held: &[HeldTask],
    news: &News,
    watches: &Watches,
) -> Result<(Vec<SessionOverview>, Vec<Session>)> {
    let mut before: BTreeMap<SessionId, SessionOverview> =
        before.into_iter().map(|one| (one.session.id.clone(), one)).collect();
    let mut holds: BTreeMap<&SessionId, Vec<&HeldTask>> = BTreeMap::new();
    for task in held {
        if let Some(session) = &task.session {
            holds.entry(session).or_default().push(task);
        }
    }
    let (mut same, mut rows) = (Vec::new(), Vec::new());
    let mut sort = |id: &SessionId, is_same_row: &dyn Fn(&Session) -> bool| -> Result<()> {
        let Some(one) = before.remove(id).filter(|one| !news.sessions.contains(id) && is_same_row(&one.session)) else {
            rows.extend(sessions::find(tx, id)?);
            return Ok(());
        };
        let mut now = holds.get(id).cloned().unwrap_or_default();
        now.sort_by(|a, b| a.task.as_str().cmp(b.task.as_str()));
        let is_same = now.iter().copied().eq(&one.holds)
            && !one.holds.iter().map(|held| &held.task).chain(&one.session.task).any(|task| news.tasks.contains(task))
            && !watches.is_due(&one);
        if is_same {
            same.push(one);
        } else {
            rows.push(one.session);
        }
        Ok(())
    };
    let stamps = overview::session_stamps(tx)?;
    for stamp in &stamps {
        sort(&stamp.id, &|row| {
            !row.status.is_final()
                && row.version == stamp.version
                && row.last_heartbeat_at == stamp.last_heartbeat_at
                && row.last_output_at == stamp.last_output_at
        })?;
    }
    let live: BTreeSet<&SessionId> = stamps.iter().map(|stamp| &stamp.id).collect();
    for id in holds.keys().filter(|id| !live.contains(**id)) {
        sort(id, &|row| row.status.is_final())?;
    }
    Ok((same, rows))
}
