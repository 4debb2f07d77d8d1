//! The reasons for which the program of a launch would be refused its task, as notes: a launch claims nothing.

use anyhow::Result;

use crate::{
    actions::core::lookup,
    domain::{
        Refusal,
        lane::Lane,
        rules::claim::check_capacity,
        session::Session,
        task::{Task, TaskState},
    },
    store::{ReadTx, sessions, tasks},
};

/// The notes for a session that is about to be launched.
///
/// # Errors
/// As the store fails.
pub(crate) fn collect(
    tx: &ReadTx<'_>,
    session: &Session,
    task: Option<&Task>,
    lane: Option<&Lane>,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if let Some(task) = task {
        about_task(tx, session, task, &mut notes)?;
    }
    if let Some(lane) = lane {
        about_lane(tx, session, task, lane, &mut notes)?;
    }
    Ok(notes)
}

fn about_task(tx: &ReadTx<'_>, session: &Session, task: &Task, notes: &mut Vec<String>) -> Result<()> {
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
            let ended = ended.map(|claimant| format!(", which has {}", claimant.status)).unwrap_or_default();
            notes.push(format!("task {id} is claimed by {}{ended}", claim.claimant));
        }
    }
    let waiting = lookup::not_ready_reasons(tx, task)?;
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

fn about_lane(
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
    let others: Vec<String> = sessions::live(tx)?
        .iter()
        .filter(|other| other.id != session.id && other.lane.as_ref() == Some(&lane.name))
        .map(|other| format!("{} ({})", other.id, other.status))
        .collect();
    match others.as_slice() {
        [] => {}
        [one] => notes.push(format!("the lane {} has another live session: {one}", lane.name)),
        several => notes.push(format!(
            "the lane {} has {} other live sessions: {}",
            lane.name,
            several.len(),
            several.join(", ")
        )),
    }
    Ok(())
}
