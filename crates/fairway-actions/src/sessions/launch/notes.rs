//! The reasons why the program of a launch could not claim its task. They are only notes, because a launch claims nothing.

use anyhow::Result;

use super::launch_lock::{self, LaunchState};
use crate::App;
use crate::core::session_process;
use crate::queue::{claimants, landed_here};
use fairway_core::domain::Refusal;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::rules::claim::check_capacity;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::task::{Task, TaskState};
use fairway_core::store::{ReadTx, sessions, tasks};

/// Notes for a session that is about to be launched: what would prevent a claim of `task`, a full lane, and other live sessions
/// of the lane.
pub(crate) fn collect(
    app: &App,
    tx: &ReadTx<'_>,
    session: &Session,
    task: Option<&Task>,
    lane: Option<&Lane>,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if let Some(task) = task {
        about_task(app, tx, session, task, &mut notes)?;
    }
    if let Some(lane) = lane {
        about_lane(app, tx, session, task, lane, &mut notes)?;
    }
    Ok(notes)
}

fn about_task(app: &App, tx: &ReadTx<'_>, session: &Session, task: &Task, notes: &mut Vec<String>) -> Result<()> {
    let id = &task.id;
    match &task.state {
        TaskState::Done(_) | TaskState::Cancelled(_) => {
            notes.push(format!("task {id} is closed"));
            return Ok(());
        }
        TaskState::Todo => {}
        TaskState::InProgress(claim) | TaskState::Blocked(claim, _) | TaskState::Review(claim) => {
            let claimant = claim.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
            let ended = claimant.filter(|claimant| claimant.status.is_final());
            let ended = ended.map(|claimant| way_on(tx, task, &claimant)).transpose()?.unwrap_or_default();
            notes.push(format!("task {id} is claimed by {}{ended}", claim.claimant));
        }
    }
    let waiting = landed_here::not_ready_reasons_now(app, tx, task)?;
    if !waiting.is_empty() {
        notes.push(format!("task {}", Refusal::DepsOpen { task: id.clone(), waiting }));
    }
    if let Some(wants) = task.fields.role.as_ref().filter(|wants| **wants != session.role) {
        notes.push(format!("task {id} is for the role {wants}; the session has the role {}", session.role));
    }
    if let (Some(wants), Some(has)) = (&task.fields.lane, &session.lane)
        && wants != has
    {
        notes.push(format!("task {id} belongs to the lane {wants}; the session works in {has}"));
    }
    Ok(())
}

/// How the claimant of a task has ended, and the first command that continues or frees the task.
fn way_on(tx: &ReadTx<'_>, task: &Task, claimant: &Session) -> Result<String> {
    let alive = session_process::aliveness(claimant);
    let status = task.state.status();
    let processes = &mut session_process::RunProcesses::default();
    let ways = claimants::ways_on(tx, &task.id, status, claimant, &alive, processes)?;
    let next = ways.first().map(|next| format!("; to {}: {}", next.purpose, next.command)).unwrap_or_default();
    Ok(format!(", which has {}{next}", claimant.status))
}

fn about_lane(
    app: &App,
    tx: &ReadTx<'_>,
    session: &Session,
    task: Option<&Task>,
    lane: &Lane,
    notes: &mut Vec<String>,
) -> Result<()> {
    let claimed = tasks::held_in_lane(tx, &lane.name, task.map(|task| &task.id))?;
    if let Err(refusal) = check_capacity(lane, claimed) {
        notes.push(refusal.to_string());
    }
    notes.extend(other_sessions(app, tx, session, lane)?);
    Ok(())
}

/// A note that names the other live sessions of the lane; `None` when there are none. Sessions that are known to be dead do not
/// count.
pub(crate) fn other_sessions(app: &App, tx: &ReadTx<'_>, session: &Session, lane: &Lane) -> Result<Option<String>> {
    let is_dead = |other: &Session| {
        session_process::aliveness(other).is_dead()
            || (other.status == SessionStatus::Starting && launch_lock::state(app, other) == LaunchState::Interrupted)
    };
    let others: Vec<String> = sessions::live(tx)?
        .iter()
        .filter(|other| other.id != session.id && other.lane.as_ref() == Some(&lane.name) && !is_dead(other))
        .map(|other| format!("{} ({})", other.id, other.status))
        .collect();
    let name = &lane.name;
    Ok(match others.as_slice() {
        [] => None,
        [one] => Some(format!("the lane {name} has another live session: {one}")),
        several => Some(format!("the lane {name} has {} other live sessions: {}", several.len(), several.join(", "))),
    })
}
