//! The work of a task that is handed over: where its commits are, and how they come into the lane of the actor who accepts.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::App;
use crate::core::lookup;
use crate::queue::lane::sync::{self, Incoming, LaneUpdate};
use crate::queue::lane::{checkout, work, worktree};
use crate::queue::task_worktree;
use fairway_core::domain::handoff::Handoff;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::lane_work::{Head, LaneWork};
use fairway_core::domain::task::Task;
use fairway_core::domain::{LaneName, Refusal, TaskId, commit_id};
use fairway_core::os::git::{Git, UncommittedWork};
use fairway_core::os::lock::FileLock;
use fairway_core::store::ReadTx;
use fairway_core::wire::HandedWorkView;

#[derive(Debug, Clone)]
pub(super) struct HandedWork {
    /// The task's lane; `None` when the worktree is that of a session without a lane.
    pub(super) lane: Option<LaneName>,
    pub(super) worktree: String,
    pub(super) branch: Option<String>,
    pub(super) head: String,
    /// How many commits of the work the base lacks; `None` when that is unknown.
    commits: Option<u64>,
    has_changes: bool,
}

/// Finds the work of a task, before its claim moves to another actor; `None` when no worktree of it is on this host. Fails
/// with `lane_damaged`.
pub(super) fn find(app: &App, id: &TaskId) -> Result<Option<HandedWork>> {
    let (is_here, lane) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        task_worktree::refuse_damaged(app, tx, &task)?;
        let lane = lookup::lane_of(tx, &task)?;
        let is_worked_on = task.state.claim().is_some() || lane.is_some();
        Ok((is_worked_on && task_worktree::of_work(app, tx, &task)?.here().is_some(), lane))
    })?;
    let work = if is_here { work::of_task(app, id, &["handoff", "accept"])? } else { None };
    let Some(LaneWork { worktree: Some(worktree), head: Some(head), base, .. }) = work else { return Ok(None) };
    let is_of_lane = |lane: &&Lane| lane.worktree.as_ref() == Some(&worktree);
    let lane = lane.as_ref().filter(is_of_lane).map(|lane| lane.name.clone());
    Ok(Some(HandedWork::new(app, lane, worktree, head, &base)))
}

impl HandedWork {
    /// Describes the work in a lane's worktree, with `head` in place of the commit that is checked out.
    pub(super) fn of_lane(app: &App, lane: &Lane, base: &str, head: &str) -> Result<Self> {
        let Some(worktree) = lane.worktree.clone() else {
            return Err(Refusal::LaneWithoutWorktree { lane: lane.name.clone() }.into());
        };
        let work = work::of_lane(app, lane, &["handoff", "accept"])?;
        let head = Head { commit: head.to_owned(), branch: work.on().map(str::to_owned) };
        Ok(Self::new(app, Some(lane.name.clone()), worktree, head, base))
    }

    fn new(app: &App, lane: Option<LaneName>, worktree: String, head: Head, base: &str) -> Self {
        let git = Git::new(app.env.vars(), worktree.as_ref());
        let commits = work::commits_since(app, &git, base, &head.commit);
        let has_changes = git.is_clean() != Some(true);
        Self { lane, branch: head.branch, head: head.commit, commits, has_changes, worktree }
    }

    /// Names the lane, or describes the worktree of a session without a lane, for a message.
    pub(super) fn place(&self) -> String {
        self.lane.as_ref().map_or_else(|| self.worktree.clone(), |lane| format!("the lane {lane}"))
    }

    /// Whether the work has commits that its base lacks, or uncommitted changes. True when git cannot tell.
    pub(super) fn is_begun(&self) -> bool {
        self.commits != Some(0) || self.has_changes
    }

    pub(super) fn line(&self) -> String {
        let lane = self.lane.as_ref().map(|lane| format!("lane {lane}, ")).unwrap_or_default();
        let branch = self.branch.as_ref().map(|branch| format!("branch {branch}, ")).unwrap_or_default();
        let commits = match self.commits {
            Some(1) => "1 commit".to_owned(),
            Some(commits) => format!("{commits} commits"),
            None => "an unknown number of commits".to_owned(),
        };
        let changes = if self.has_changes { " and changes that are not committed" } else { "" };
        format!("work: {lane}{branch}{commits}{changes}, in {}", self.worktree)
    }

    pub(super) fn view(&self) -> HandedWorkView {
        HandedWorkView {
            lane: self.lane.as_ref().map(ToString::to_string),
            worktree: self.worktree.clone(),
            branch: self.branch.clone(),
            commits: self.commits,
            has_changes: self.has_changes,
        }
    }
}

/// The actor's lane: that of its session, else the lane that the handoff is for, else the actor's own `--lane`. Fails with
/// `work_not_moved` without a lane.
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

/// Locks the worktrees of both lanes in the order of their names, so that two acceptances in opposite directions do not wait for
/// each other. Fails with `in_use`.
pub(super) fn lock(app: &App, own: &Lane, task: &Task) -> Result<Vec<FileLock>> {
    let names: BTreeSet<_> = task.fields.lane.iter().chain([&own.name]).collect();
    names.into_iter().map(|name| worktree::lock(app, name)).collect()
}

/// Works out how the commits of the work come into the lane `own`; `None` when the work is in that lane already, or there is
/// none. Fails with `unsaved_work`, `work_not_moved`, `operation_unfinished`, `in_use`, and the refusals of a worktree that is
/// damaged, missing or on another host.
pub(super) fn prepare(app: &App, handoff: &Handoff, task: &Task, own: &Lane) -> Result<Option<LaneUpdate>> {
    let id = handoff.id.to_string();
    let words = ["handoff", "accept", &id, "--move"];
    let lane = app.read(|tx| {
        let is_worked_on = task.state.claim().is_some() || task.fields.lane.is_some();
        let refusal =
            if is_worked_on { task_worktree::of_work(app, tx, task)?.refusal(app, tx, &words)? } else { None };
        match refusal {
            Some(refusal) => Err(refusal.into()),
            None => Ok(lookup::lane_of(tx, task)?),
        }
    })?;
    if lane.as_ref().is_some_and(|lane| lane.name == own.name) {
        return Ok(None);
    }
    if let Some(lane) = lane.filter(|lane| lane.worktree.is_some()) {
        checkout::dir(app, &lane, &words)?;
    }
    let Some(work) = find(app, &task.id)?.filter(HandedWork::is_begun) else { return Ok(None) };
    let dir = checkout::dir(app, own, &words)?;
    let incoming = incoming(app, handoff, &work)?;
    let busy = |session: &str| Some(format!("stop it first: fairway session stop {session}"));
    sync::prepare(app, own, dir, incoming, false, busy).map(Some)
}

/// The commits to bring. Refuses uncommitted changes, which no merge would bring.
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
