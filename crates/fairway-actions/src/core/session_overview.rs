//! The facts about sessions that their rows do not hold, read once for every surface that shows them: lists, lanes, the board.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{launch_event, session_process};
use fairway_core::domain::session::Session;
use fairway_core::domain::session_facts::{Doing, HeldTask, Seen, SessionOverview};
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::store::overview::{self, WrittenCheckpoint};
use fairway_core::store::{ReadTx, StoreError, session_reports, sessions};

/// The number of sessions above which everything is read in one statement.
const MAX_SINGLE_READS: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    Live,
    /// Like `Live`, with final sessions that still have a claim.
    LiveAndHolding,
    All,
}

/// The sessions of a scope with their facts, oldest first. The caller passes all claimed tasks as `held`.
pub fn read(tx: &ReadTx<'_>, scope: SessionScope, held: &[HeldTask]) -> Result<Vec<SessionOverview>> {
    Ok(with_facts(tx, rows(tx, scope, held)?, held)?)
}

/// The rows of the sessions of a scope, oldest first. The caller passes all claimed tasks as `held`.
pub fn rows(tx: &ReadTx<'_>, scope: SessionScope, held: &[HeldTask]) -> Result<Vec<Session>> {
    let mut found = if scope == SessionScope::All { sessions::all(tx)? } else { sessions::live(tx)? };
    if scope == SessionScope::LiveAndHolding {
        let live: BTreeSet<&SessionId> = found.iter().map(|session| &session.id).collect();
        if held.iter().filter_map(|task| task.session.as_ref()).any(|id| !live.contains(id)) {
            found.extend(sessions::holding_final(tx)?);
        }
        found.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    }
    Ok(found)
}

/// Adds to each session the facts that its row does not hold. `held` must contain at least the tasks that these sessions have
/// claimed.
pub fn with_facts(
    tx: &ReadTx<'_>,
    sessions: Vec<Session>,
    held: &[HeldTask],
) -> Result<Vec<SessionOverview>, StoreError> {
    let mut holds: BTreeMap<&SessionId, Vec<HeldTask>> = BTreeMap::new();
    for task in held {
        if let Some(session) = &task.session {
            holds.entry(session).or_default().push(task.clone());
        }
    }
    // Of many sessions all is read at once: each statement is an exchange with a server.
    let newest = if sessions.len() > MAX_SINGLE_READS { Some(overview::newest_of_sessions(tx)?) } else { None };
    let outputs: BTreeMap<SessionId, Timestamp> = overview::last_outputs(tx)?.into_iter().collect();
    let is_any_structured = sessions.iter().any(|session| session.is_structured() && !session.status.is_final());
    let unguarded = if is_any_structured { session_reports::unguarded(tx)? } else { BTreeMap::new() };
    let with_facts = |session: Session| -> Result<SessionOverview, StoreError> {
        let mut overview = SessionOverview {
            alive: session_process::aliveness(&session),
            holds: holds.remove(&session.id).unwrap_or_default(),
            doing: None,
            seen: Seen::of(&session, outputs.get(&session.id).copied()),
            can_relaunch: false,
            silence: None,
            unguarded: unguarded.get(&session.id).filter(|_| session.is_structured()).cloned(),
            is_stopped_by_reader: false,
            noticed_at: None,
            ended_turn: None,
            turn_shown_at: None,
            parking: None,
            session,
        };
        overview.can_relaunch = overview.is_over() && launch_event::can_relaunch(tx, &overview.session)?;
        overview.holds.sort_by(|a, b| a.task.as_str().cmp(b.task.as_str()));
        overview.doing = doing(tx, &overview, newest.as_ref())?;
        Ok(overview)
    };
    sessions.into_iter().map(with_facts).collect()
}

/// The text about what a session waits for, else its newest checkpoint on its claimed tasks, else on the task it was launched
/// for. `known` has the newest checkpoints of all live sessions and of all sessions with claims.
fn doing(
    tx: &ReadTx<'_>,
    overview: &SessionOverview,
    known: Option<&BTreeMap<(TaskId, SessionId), WrittenCheckpoint>>,
) -> Result<Option<Doing>, StoreError> {
    let session = &overview.session;
    if let Some(text) = overview.waiting_for() {
        return Ok(Some(Doing { text: text.to_owned(), source: "activity".to_owned(), at: session.activity_at }));
    }
    let held = overview.holds.iter().map(|held| &held.task);
    let launched_for = session.task.iter().filter(|_| overview.holds.is_empty());
    let known = known.filter(|_| !overview.holds.is_empty() || !session.status.is_final());
    let mut newest: Option<WrittenCheckpoint> = None;
    for task in held.chain(launched_for) {
        let written = match known {
            Some(known) => known.get(&(task.clone(), session.id.clone())).cloned(),
            None => overview::newest_written_by(tx, task, &session.id)?,
        };
        newest = newest.into_iter().chain(written).max_by_key(|checkpoint| checkpoint.id);
    }
    Ok(newest.map(|checkpoint| Doing {
        text: checkpoint.summary,
        source: format!("checkpoint {}", checkpoint.id),
        at: Some(checkpoint.at),
    }))
}
