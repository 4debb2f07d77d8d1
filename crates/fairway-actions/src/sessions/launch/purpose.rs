//! The command for which a session is launched, and its additions to the launch.

use anyhow::Result;

use super::switch::Switch;
use crate::core::dead_session::DeadSession;
use crate::core::lookup;
use crate::queue::task::claim::StartClaim;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, SessionId, TaskId};
use fairway_core::store::{ReadTx, StoreError, WriteTx, claims, sessions};

/// The command for which a session is launched.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// `session launch`: claims nothing.
    Launch,
    /// `start`: claims the task, unless it is told not to.
    Start(Start),
    /// `session relaunch`: replaces a session that is over.
    Relaunch(Relaunch),
    /// `session structured` and `session terminal`: replaces the program of a live session.
    Switch(Box<Switch>),
}

/// The facts about a start that its answer needs.
#[derive(Debug, Clone)]
pub struct Start {
    pub title: String,
    pub added_task: bool,
    pub added_lane: bool,
    pub claims: bool,
    /// The claim, once it is made.
    pub claim: Option<StartClaim>,
}

#[derive(Debug, Clone)]
pub struct Relaunch {
    /// The session that is replaced.
    pub of: SessionId,
    /// The sessions whose end the relaunch records: `of`, when its end is not recorded, and earlier relaunches that are dead.
    pub dead: Vec<DeadSession>,
    /// The conversation that is resumed.
    pub conversation: Option<String>,
    /// The tasks whose claims the new session continues, once it does.
    pub continued: Vec<TaskId>,
}

impl Relaunch {
    /// Records the ends of the dead sessions that are replaced. Returns the sessions whose claims the relaunch continues.
    ///
    /// # Errors
    /// `session_alive` when one of them is not dead any more, or was relaunched meanwhile.
    pub(crate) fn end_predecessors(&self, tx: &WriteTx<'_>) -> Result<Vec<Session>> {
        for dead in &self.dead {
            if let Some(session) = dead.confirm(tx)? {
                dead.end(tx, &session)?;
            }
        }
        let of = lookup::session(tx, &self.of)?;
        let predecessors = predecessors(tx, &of)?;
        let successors = if of.status.is_final() { successors(tx, &self.of)? } else { vec![of] };
        let is_alive = |session: &&Session| !session.status.is_final();
        match successors.iter().chain(&predecessors).find(is_alive) {
            Some(session) => Err(not_over(session, &self.of, "it is recorded as alive").into()),
            None => Ok(predecessors),
        }
    }
}

/// The session, the session that it replaced, and so on; newest first.
pub(crate) fn chain(tx: &ReadTx<'_>, session: &Session) -> Result<Vec<Session>, StoreError> {
    let mut chain = vec![session.clone()];
    while let Some(of) = chain.last().and_then(|last| last.relaunch_of.as_ref())
        && let Some(earlier) = sessions::find(tx, of)?
        && chain.iter().all(|known| known.id != earlier.id)
    {
        chain.push(earlier);
    }
    Ok(chain)
}

/// The sessions whose claims a relaunch of `of` continues: `of` itself, the sessions that it replaced, and those that have
/// replaced it. Sessions without a claim are left out.
pub(crate) fn predecessors(tx: &ReadTx<'_>, of: &Session) -> Result<Vec<Session>, StoreError> {
    let earlier = chain(tx, of)?;
    let mut found = Vec::new();
    for id in claims::claiming_sessions(tx, None, None)? {
        let Some(session) = sessions::find(tx, &id)? else { continue };
        let is_earlier = earlier.iter().any(|earlier| earlier.id == id);
        if is_earlier || chain(tx, &session)?.iter().any(|earlier| earlier.id == of.id) {
            found.push(session);
        }
    }
    Ok(found)
}

/// The live sessions that replaced `of`, directly or through other relaunches.
pub(crate) fn successors(tx: &ReadTx<'_>, of: &SessionId) -> Result<Vec<Session>, StoreError> {
    let mut found = Vec::new();
    for session in sessions::live(tx)? {
        if chain(tx, &session)?.iter().skip(1).any(|earlier| earlier.id == *of) {
            found.push(session);
        }
    }
    Ok(found)
}

/// The error of a relaunch of `of` when `session`, which is `of` or a relaunch of it, may be alive.
pub(crate) fn not_over(session: &Session, of: &SessionId, why: &str) -> Refusal {
    let why = if session.id == *of { why.to_owned() } else { format!("it is the relaunch of {of}; {why}") };
    Refusal::SessionAlive { session: session.id.clone(), why, is_launched: session.adapter_script.is_some() }
}

impl Purpose {
    /// The claim that a start has made; `None` before that, and for the other commands.
    pub fn claim(&self) -> Option<&StartClaim> {
        match self {
            Self::Start(start) => start.claim.as_ref(),
            Self::Launch | Self::Relaunch(_) | Self::Switch(_) => None,
        }
    }
}
