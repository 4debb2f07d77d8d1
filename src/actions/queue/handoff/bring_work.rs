//! Bring the commits of a task that is handed over into the lane of the actor who accepts.

use std::collections::BTreeSet;

use anyhow::Result;

use super::work::{self, HandedWork};
use crate::{
    actions::{
        App,
        core::lookup,
        queue::{
            lane::{
                checkout,
                sync::{self, Incoming, LaneUpdate},
                worktree,
            },
            task_worktree,
        },
    },
    domain::{Refusal, commit_id, handoff::Handoff, lane::Lane, task::Task},
    os::{
        git::{Git, UncommittedWork},
        lock::FileLock,
    },
    store::{ReadTx, lanes},
};

/// The lane of the actor: that of its session, else the one that the handoff is for, else the one that it names.
///
/// # Errors
/// `work_not_moved` without one; `not_found` for one that does not exist.
pub(super) fn own_lane(app: &App, tx: &ReadTx<'_>, handoff: &Handoff) -> Result<Lane> {
    let session = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
    let named = session.and_then(|session| session.lane).or_else(|| handoff.to_lane.clone());
    let Some(name) = named.or_else(|| app.actor.lane.clone()) else {
        let id = handoff.id;
        let hint = format!("act as a session of a lane: fairway handoff accept {id} --move --session SESSION");
        return Err(Refusal::WorkNotMoved { handoff: id, why: "you act in no lane".into(), hint }.into());
    };
    lookup::lane(tx, &name)
}

/// Locks the worktrees of the lane that gets the commits and of the one that has them, in the order of their names: two
/// acceptances in opposite directions do not wait for each other.
///
/// # Errors
/// `in_use`.
pub(super) fn lock(app: &App, own: &Lane, task: &Task) -> Result<Vec<FileLock>> {
    let names: BTreeSet<_> = task.fields.lane.iter().chain([&own.name]).collect();
    names.into_iter().map(|name| worktree::lock(app, name)).collect()
}

/// Works out how the commits come into the lane `own`; `None` when nothing was begun outside of it.
///
/// # Errors
/// `lane_elsewhere`, `session_mismatch`, `lane_damaged`, `no_worktree`, `not_found`, `unsaved_work`, `work_not_moved`,
/// `wrong_branch`, `in_use`, `git_failed`.
pub(super) fn prepare(app: &App, handoff: &Handoff, task: &Task, own: &Lane) -> Result<Option<LaneUpdate>> {
    let id = handoff.id.to_string();
    let words = ["handoff", "accept", &id, "--move"];
    let lane = app.read(|tx| {
        let is_worked_on = task.state.claim().is_some() || task.fields.lane.is_some();
        let refusal =
            if is_worked_on { task_worktree::of_work(app, tx, task)?.refusal(app, tx, &words)? } else { None };
        match refusal {
            Some(refusal) => Err(refusal.into()),
            None => Ok(task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten()),
        }
    })?;
    if lane.as_ref().is_some_and(|lane| lane.name == own.name) {
        return Ok(None);
    }
    if let Some(lane) = lane.filter(|lane| lane.worktree.is_some()) {
        checkout::dir(app, &lane, &words)?;
    }
    let Some(work) = work::find(app, &task.id)?.filter(HandedWork::is_begun) else { return Ok(None) };
    let dir = checkout::dir(app, own, &words)?;
    let incoming = incoming(app, handoff, &work)?;
    let busy = |session: &str| Some(format!("stop it first: fairway session stop {session}"));
    sync::prepare(app, own, dir, incoming, false, busy).map(Some)
}

/// The commits of the work. What is in no commit cannot be brought.
fn incoming(app: &App, handoff: &Handoff, work: &HandedWork) -> Result<Incoming> {
    let Some(lane) = &work.lane else {
        let why = format!("it is in {}, which is the worktree of no lane", work.worktree);
        let hint = format!("accept it and work there: fairway handoff accept {}", handoff.id);
        return Err(Refusal::WorkNotMoved { handoff: handoff.id, why, hint }.into());
    };
    let git = Git::new(app.env.vars(), work.worktree.as_ref());
    let (operation, changes) = (git.unfinished_operation()?, git.changes()?);
    if let Some(text) = (UncommittedWork { operation, changes, ..UncommittedWork::default() }).text() {
        let (why, dir) = (format!("its worktree {text}"), Some(work.worktree.clone()));
        return Err(Refusal::UnsavedWork { lane: lane.clone(), verb: "move the work of", why, dir }.into());
    }
    let name = work.branch.clone().unwrap_or_else(|| commit_id::short(&work.head).to_owned());
    Ok(Incoming { name, commit: work.head.clone() })
}
