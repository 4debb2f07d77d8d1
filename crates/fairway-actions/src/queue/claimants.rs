//! The sessions behind claims: whether each is alive, and which commands help when it is not.

use std::collections::BTreeMap;

use crate::core::launch_event;
use crate::core::session_process::{self, RunProcesses};
use fairway_core::domain::rules::death::{self, Claimant};
use fairway_core::domain::session::Session;
use fairway_core::domain::session_facts::{Aliveness, NextCommand, Seen};
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::store::{ReadTx, StoreError, sessions};
use fairway_core::wire::{ClaimantView, TaskView};

/// The sessions of claimants. Each is looked at only once.
#[derive(Debug, Default)]
pub struct Claimants {
    known: BTreeMap<SessionId, Option<(Session, Aliveness)>>,
    processes: RunProcesses,
}

impl Claimants {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the state of the claiming session, and the commands that continue or free the task, to the view of a task. Adds
    /// nothing for an unclaimed task, for a claim without a session, and for a session that the store does not know.
    pub fn describe(&mut self, tx: &ReadTx<'_>, task: &Task, view: &mut TaskView) -> Result<(), StoreError> {
        let Some(id) = task.state.claim().and_then(|claim| claim.session.as_ref()) else { return Ok(()) };
        if !self.known.contains_key(id) {
            let found = sessions::find(tx, id)?.map(|session| {
                let alive = session_process::aliveness(&session);
                (session, alive)
            });
            self.known.insert(id.clone(), found);
        }
        if let Some((session, alive)) = self.known.get(id).and_then(Option::as_ref) {
            let ways = ways_on(tx, &task.id, task.state.status(), session, alive, &mut self.processes)?;
            view.claimant = Some(ClaimantView::new(session, alive, Seen::of(session, None), &ways));
        }
        Ok(())
    }
}

/// The commands that continue or free a task whose session is dead or stale. Searches `/proc` for leftover processes of the
/// session run only when the session is over and belongs to this host.
pub fn ways_on(
    tx: &ReadTx<'_>,
    task: &TaskId,
    status: TaskStatus,
    session: &Session,
    alive: &Aliveness,
    processes: &mut RunProcesses,
) -> Result<Vec<NextCommand>, StoreError> {
    let is_over = alive.is_dead() || session.status.is_final();
    let live = if is_over && session.lane.is_some() { sessions::live(tx)? } else { Vec::new() };
    let may_work = |other: &&Session| !session_process::aliveness(other).is_dead();
    let claimant = Claimant {
        session,
        alive,
        can_relaunch: is_over && launch_event::can_relaunch(tx, session)?,
        remaining: session_process::remaining(session, alive, processes),
        in_lane: live.iter().find(|other| death::may_continue(other, session) && may_work(other)).map(|one| &one.id),
    };
    Ok(death::ways_on(task, status, claimant))
}
