//! The facts about sessions that their rows do not hold, read once for every surface that shows them: lists, lanes, the board.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{launch_parts, session_process};
use crate::{
    domain::{
        SessionId,
        session::Session,
        session_facts::{Doing, HeldTask, Seen, SessionOverview},
    },
    env::Timestamp,
    store::{ReadTx, StoreError, overview, sessions},
};

/// Which sessions an overview has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    /// Sessions that are not final.
    Live,
    /// These, and final ones that still have a claim.
    LiveAndHolding,
    /// All sessions.
    All,
}

/// The sessions of a scope with their facts, oldest first. `held` are all claimed tasks.
pub fn read(tx: &ReadTx<'_>, scope: SessionScope, held: &[HeldTask]) -> Result<Vec<SessionOverview>> {
    Ok(with_facts(tx, rows(tx, scope, held)?, held)?)
}

/// The rows of the sessions of a scope, oldest first. `held` are all claimed tasks.
pub fn rows(tx: &ReadTx<'_>, scope: SessionScope, held: &[HeldTask]) -> Result<Vec<Session>> {
    let mut found = if scope == SessionScope::All { sessions::all(tx)? } else { sessions::live(tx)? };
    if scope == SessionScope::LiveAndHolding {
        let is_live = |id: &SessionId| found.iter().any(|session| session.id == *id);
        let mut others: Vec<&SessionId> =
            held.iter().filter_map(|task| task.session.as_ref()).filter(|id| !is_live(id)).collect();
        others.sort_unstable();
        others.dedup();
        let others = others.into_iter().filter_map(|id| sessions::find(tx, id).transpose());
        let others: Vec<Session> = others.collect::<Result<_, StoreError>>()?;
        found.extend(others);
        found.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    }
    Ok(found)
}

/// These sessions with their facts. `held` are all claimed tasks, or at least theirs.
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
    let outputs: BTreeMap<SessionId, Timestamp> = overview::last_outputs(tx)?.into_iter().collect();
    let with_facts = |session: Session| -> Result<SessionOverview, StoreError> {
        let mut overview = SessionOverview {
            alive: session_process::aliveness(&session),
            holds: holds.remove(&session.id).unwrap_or_default(),
            doing: None,
            seen: Seen::of(&session, outputs.get(&session.id).copied()),
            can_relaunch: false,
            silence: None,
            is_stopped_by_reader: false,
            session,
        };
        overview.can_relaunch = overview.is_over() && launch_parts::can_relaunch(tx, &overview.session)?;
        overview.holds.sort_by(|a, b| a.task.as_str().cmp(b.task.as_str()));
        overview.doing = doing(tx, &overview)?;
        Ok(overview)
    };
    sessions.into_iter().map(with_facts).collect()
}

/// The input that a session waits for, else its newest checkpoint on its claimed tasks, else on the task it was launched for.
fn doing(tx: &ReadTx<'_>, overview: &SessionOverview) -> Result<Option<Doing>, StoreError> {
    let session = &overview.session;
    if let Some(text) = overview.waiting_for() {
        return Ok(Some(Doing { text: text.to_owned(), source: "activity".to_owned(), at: session.activity_at }));
    }
    let held = overview.holds.iter().map(|held| &held.task);
    let launched_for = session.task.iter().filter(|_| overview.holds.is_empty());
    let mut newest: Option<overview::WrittenCheckpoint> = None;
    for task in held.chain(launched_for) {
        let written = overview::newest_written_by(tx, task, &session.id)?;
        newest = newest.into_iter().chain(written).max_by_key(|checkpoint| checkpoint.id);
    }
    Ok(newest.map(|checkpoint| Doing {
        text: checkpoint.summary,
        source: format!("checkpoint {}", checkpoint.id),
        at: Some(checkpoint.at),
    }))
}
