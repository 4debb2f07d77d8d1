//! Lanes that stand on a lane whose work has landed: the base of that one is theirs from now on, and their own commits move on top
//! of it where it has the work as other commits.

use anyhow::Result;
use serde_json::json;

use crate::App;
use crate::mail::send::send_to_workers;
use crate::queue::landing_unit::{Unit, project_git, tip};
use crate::queue::lane::stack;
use crate::queue::lane::sync::{SyncOptions, sync};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::message::{LAND_SOURCE, Priority};
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::{Event, EventKind, Refusal};
use fairway_core::store::{WriteTx, landings, lanes, tasks};

/// Moves the lanes that stand on the lane of a landed unit. One that cannot move now gets a message with the command
/// that moves it. Returns a note for each.
pub(super) fn move_children(app: &App, unit: &Unit) -> Result<Vec<String>> {
    let Some(parent) = &unit.lane else { return Ok(Vec::new()) };
    let children = app.read(|tx| stack::children(tx, parent))?;
    children.iter().map(|child| move_child(app, unit, parent, child)).collect()
}

fn move_child(app: &App, unit: &Unit, parent: &Lane, child: &Lane) -> Result<String> {
    let (git, name, base) = (project_git(app)?, child.name.clone(), unit.base.clone());
    let before = tip(app, child).ok();
    if let Some(head) = &before {
        stack::keep_newest(&git, &name, (head, &unit.commit))?;
    }
    app.transaction(|tx| {
        lanes::upsert(tx, &Lane { base: Some(base.clone()), ..child.clone() })?;
        tx.record(&Event::new(EventKind::LaneEdited).lane(Some(&name)).with("fields", vec!["base".to_owned()]))?;
        Ok::<_, anyhow::Error>(())
    })?;
    let stands = format!("the lane {name} stood on {}, and stands on {base} now", parent.name);
    let Some((head, to)) = before.zip(git.commit(&base)) else { return Ok(stands) };
    if stack::replaced(&git, &name, (&head, &to)).is_none() {
        return Ok(stands);
    }
    // Its request id is that of the landing.
    let alone = app.with_actor(app.actor.clone(), None);
    let moved = submitted(app, child, &head).and_then(|tasks| {
        sync(&alone, &name, &SyncOptions::default())?;
        Ok(tasks)
    });
    match moved {
        Ok(tasks) => {
            let now = tip(app, child)?;
            app.transaction(|tx| tasks.iter().try_for_each(|task| submit_at(tx, task, &now)))?;
            let next = tasks.first().map(|task| format!("; next: fairway land {}", task.id)).unwrap_or_default();
            Ok(format!("{stands}; its commits moved{next}"))
        }
        Err(error) => {
            let Some(refusal) = error.downcast_ref::<Refusal>() else { return Err(error) };
            let command = match refusal {
                Refusal::SyncConflict { by_hand, .. } => by_hand.clone(),
                _ => format!("fairway lane sync {name}"),
            };
            let text = format!(
                "{} landed in {base} as other commits, and your lane {name} stands on the old ones. It stays: {refusal}. \
                 Commit your work, then move it: {command}",
                unit.label(),
            );
            let (metadata, key) = (json!({ "level": "rebase", "command": command }), format!("stack {name} {to}"));
            let by = (LAND_SOURCE, Priority::Normal);
            app.transaction(|tx| send_to_workers(tx, [], Some(&name), by, &text, &metadata, &key))?;
            Ok(format!("{stands}; its commits stay: {refusal}"))
        }
    }
}

/// The tasks that are submitted with a lane's newest commit. An earlier commit that is submitted keeps the lane as it is.
fn submitted(app: &App, lane: &Lane, head: &str) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    app.read(|tx| {
        for id in landings::unlanded_in(tx, &lane.name)? {
            tasks.extend(tasks::find(tx, &id)?.filter(|task| task.state.status() == TaskStatus::Review));
        }
        Ok::<_, anyhow::Error>(())
    })?;
    if let Some(task) = tasks.iter().find(|task| task.commit.as_deref() != Some(head)) {
        let why = format!("{} is submitted with another commit", task.id);
        let hint = format!("move its commits: fairway lane sync {}", lane.name);
        return Err(Refusal::LaneHeld { lane: lane.name.clone(), why, hint }.into());
    }
    Ok(tasks)
}

fn submit_at(tx: &WriteTx<'_>, task: &Task, commit: &str) -> Result<()> {
    tasks::set_work(tx, &task.id, task.branch.as_deref(), Some(commit))?;
    let event = Event::new(EventKind::TaskEdited).task(&task.id).lane(task.fields.lane.as_ref());
    tx.record(&event.with("fields", vec!["commit".to_owned()]))?;
    Ok(())
}
