//! The commit with which a task is handed in: fixed by `submit` and by `done`, and from then on the only one that is judged and
//! landed.

use anyhow::Result;

use crate::core::lookup;
use crate::queue::landing_unit::is_in_base;
use crate::queue::lane::work;
use crate::queue::task_worktree::{self, resolve_commit_for};
use crate::{Answer, App};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::lane_work::{LaneWork, WorkState};
use fairway_core::domain::task::Task;
use fairway_core::domain::{LaneName, Refusal, TaskId, commit_id, plural};
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, WriteTx, lanes, tasks};

/// The commit with which a task is handed in.
#[derive(Debug, Clone, Default)]
pub(super) struct HandedIn {
    /// `None` when the base has all of the work already, and where no repository is.
    pub(super) commit: Option<String>,
    pub(super) branch: Option<String>,
    /// Whether git was asked which one it is.
    pub(super) is_known: bool,
    /// The lane into which the task goes, because the work is there by now.
    pub(super) lane: Option<LaneName>,
    pub(super) notes: Vec<String>,
}

impl HandedIn {
    /// A commit that was fixed before, or that the caller names.
    pub(super) fn of(commit: &str) -> Self {
        Self { commit: Some(commit.to_owned()), ..Self::default() }
    }

    /// Records the commit, and the lane into which the task goes. Where git was not asked, what was recorded before stays.
    pub(super) fn record(&self, tx: &WriteTx<'_>, task: &Task) -> Result<()> {
        if self.is_known || self.commit.is_some() {
            let branch = self.branch.as_deref().or(task.branch.as_deref());
            tasks::set_work(tx, &task.id, branch, self.commit.as_deref())?;
        }
        if let Some(lane) = &self.lane {
            tasks::set_lane(tx, &task.id, Some(lane))?;
        }
        Ok(())
    }

    /// The answer with the commit that was found at the end of its line, and with the notes.
    pub(super) fn told(&self, answer: Answer) -> Answer {
        let at = match &self.commit {
            _ if !self.is_known => String::new(),
            Some(commit) => format!(", at {}", commit_id::short(commit)),
            None => ", without a commit".to_owned(),
        };
        let line = answer.line.clone() + &at;
        Answer { line, ..answer }.with_notes(self.notes.clone())
    }
}

/// Like [`find`], with the commit that the caller names. One that the base has already is none.
pub(super) fn named(app: &App, id: &TaskId, commit: &str, words: &[&str]) -> Result<HandedIn> {
    let base = app.read(|tx| {
        let lane = lookup::lane_of(tx, &lookup::task(tx, id)?)?;
        Ok(lane.and_then(|lane| lane.base).unwrap_or_else(|| app.settings.project.base_branch.clone()))
    })?;
    let commit = resolve_commit_for(app, id, Some(commit), words)?;
    let git = Git::new(app.env.vars(), &app.project.root);
    let is_in_base = commit.as_ref().is_some_and(|commit| is_in_base(app, &git, &base, commit).unwrap_or(false));
    Ok(HandedIn { commit: commit.filter(|_| !is_in_base), is_known: is_in_base, ..HandedIn::default() })
}

/// Finds the commit with which a task is handed in: the one that is checked out where the task is worked on. `words` are the
/// arguments of the command, without the task.
///
/// # Errors
/// `operation_unfinished` in the middle of a rebase, merge, cherry-pick, revert or bisect; `work_not_here` from a lane that lacks
/// the commits; `lane_elsewhere`, `session_mismatch`, `lane_damaged`.
pub(super) fn find(app: &App, id: &TaskId, words: &[&str]) -> Result<HandedIn> {
    let (task, lane) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        let lane = lookup::lane_of(tx, &task)?;
        Ok((task, lane))
    })?;
    let git = Git::new(app.env.vars(), &app.project.root);
    app.read(|tx| task_worktree::refuse_damaged(app, tx, &task))?;
    let Some(of_task) = work::of_task(app, id, &[words, &[id.as_str()]].concat())? else {
        return Ok(HandedIn::default());
    };
    let of_other = unmerged(app, &git, &of_task)?;
    let own = if of_other.is_some() { own_lane(app, &task)? } else { None };
    let (found, moved) = match &own {
        Some(own) => (work::of_lane(app, own, words)?, Some(own.name.clone())),
        None => (of_task.clone(), None),
    };
    if let Some(operation) = found.operation {
        let (of, dir) = (id.to_string(), found.worktree.unwrap_or_default());
        return Err(Refusal::OperationUnfinished { of, operation, dir }.into());
    }
    let commit = found.commit().map(str::to_owned);
    let is_new = match &commit {
        Some(commit) => !is_in_base(app, &git, &found.base, commit)?,
        None => false,
    };
    let commit = commit.filter(|_| is_new);
    let missing = of_other.filter(|_| own.is_some()).or_else(|| task.commit.clone().filter(|_| commit.is_none()));
    if let Some(missing) = missing.and_then(|missing| git.commit(&missing))
        && !is_in_base(app, &git, &found.base, &missing)?
        && found.commit().is_none_or(|commit| git.is_ancestor(&missing, commit) != Some(true))
    {
        let place = own.or(lane).map_or_else(|| "the worktree".to_owned(), |lane| format!("the lane {}", lane.name));
        let (task, dir) = (task.id, found.worktree.unwrap_or_default());
        return Err(Refusal::WorkNotHere { task, commit: missing, place, dir }.into());
    }
    // Without commits of its own the lane does not take the task over.
    let lane = moved.filter(|_| commit.is_some());
    let notes = notes(app, &found, commit.is_some());
    let branch = found.on().map(str::to_owned);
    Ok(HandedIn { commit, branch, is_known: found.commit().is_some(), lane, notes })
}

/// The lane from which the actor hands in, when it is another one than the task's: that of the working directory, else that of
/// the acting session, if it has commits of its own.
fn own_lane(app: &App, task: &Task) -> Result<Option<Lane>> {
    let Some(of_task) = &task.fields.lane else { return Ok(None) };
    let is_other = |own: &Lane| own.name != *of_task && own.worktree.is_some();
    let (around, of_session) = app.read(|tx| {
        let session = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
        let of_session = session.and_then(|session| session.lane);
        Ok((around(app, tx)?, of_session.map(|name| lanes::find(tx, &name)).transpose()?.flatten()))
    })?;
    if around.is_some() {
        return Ok(around.filter(is_other));
    }
    let Some(own) = of_session.filter(is_other) else { return Ok(None) };
    let git = Git::new(app.env.vars(), &app.project.root);
    let has_work = unmerged(app, &git, &work::of_lane(app, &own, &["task", "submit"])?)?.is_some();
    Ok(has_work.then_some(own))
}

/// The lane whose worktree contains the working directory.
fn around(app: &App, tx: &ReadTx<'_>) -> Result<Option<Lane>> {
    Ok(lanes::all(tx)?.into_iter().find(|lane| lane.is_around(&app.env.cwd)))
}

/// The commit of the work, unless its base has it.
fn unmerged(app: &App, git: &Git<'_>, work: &LaneWork) -> Result<Option<String>> {
    let Some(commit) = work.commit() else { return Ok(None) };
    Ok(if is_in_base(app, git, &work.base, commit)? { None } else { Some(commit.to_owned()) })
}

/// Notes about the worktree for the caller that submits the task.
fn notes(app: &App, work: &LaneWork, has_commit: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let (true, Some(branch)) = (has_commit, &work.branch)
        && let (WorkState::OtherBranch(_) | WorkState::Detached | WorkState::BranchGone, Some(clause)) =
            (work.state(), work.state().clause())
    {
        notes.push(format!("the lane {clause}, and not on {branch}: what is checked out is what lands"));
    }
    let dir = work.worktree.as_ref().filter(|_| work.branch.is_some());
    let changed = dir.and_then(|dir| Git::new(app.env.vars(), dir.as_ref()).count_changed_files().ok()).unwrap_or(0);
    if changed > 0 {
        let files = plural::count(changed, "file");
        notes.push(format!("not included: {files} with changes that are in no commit"));
    }
    notes
}
