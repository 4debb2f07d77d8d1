//! Resolves the work of a lane, and of a task, from git.

use std::path::Path;

use anyhow::Result;

use super::checkout::{self, Presence};
use crate::App;
use crate::core::{lookup, other_host};
use crate::queue::base_commit;
use crate::queue::task_worktree::{self, WorkDirectory};
use fairway_core::config::project::worktree_top;
use fairway_core::domain::TaskId;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::lane_work::{Head, LaneWork};
use fairway_core::domain::task::Task;
use fairway_core::os::git::{CheckedOut, Git, GitError, Repository};
use fairway_core::store::ReadTx;

/// The work of a lane. `words` are the arguments of the running command, which a refusal shows for the other host. Fails with
/// `lane_elsewhere`.
pub(crate) fn of_lane(app: &App, lane: &Lane, words: &[&str]) -> Result<LaneWork> {
    other_host::refuse_lane(app, lane, words)?;
    let empty =
        LaneWork { branch: lane.branch.clone(), base: checkout::base(app, lane).to_owned(), ..LaneWork::default() };
    Ok(match checkout::presence(app, lane) {
        Presence::Present(dir) => at(app, &dir, empty)?,
        Presence::Damaged(dir, why) => {
            LaneWork { worktree: Some(dir.display().to_string()), damage: Some(why), ..empty }
        }
        Presence::Missing(_) | Presence::None | Presence::Elsewhere => without_worktree(app, empty)?,
    })
}

/// Where a task is worked on, as the store knows it.
pub(crate) struct WorkPlace {
    /// Its lane, if that has a worktree.
    lane: Option<Lane>,
    dir: WorkDirectory,
}

/// Where a task is worked on. Fails with `lane_elsewhere`, `session_mismatch`.
pub(crate) fn place_of_task(app: &App, tx: &ReadTx<'_>, task: &Task, words: &[&str]) -> Result<WorkPlace> {
    let dir = task_worktree::of_work(app, tx, task)?;
    match dir.refusal(app, tx, words)? {
        Some(refusal) => Err(refusal.into()),
        None => Ok(WorkPlace { lane: lookup::lane_of(tx, task)?.filter(|lane| lane.worktree.is_some()), dir }),
    }
}

/// The work of a task: that of its lane, else what is checked out where the task is worked on. `None` where nothing is known
/// of that place, and where no repository is. Fails with `lane_elsewhere`, `session_mismatch`.
pub(crate) fn of_task(app: &App, id: &TaskId, words: &[&str]) -> Result<Option<LaneWork>> {
    let place = app.read(|tx| place_of_task(app, tx, &lookup::task(tx, id)?, words))?;
    of_place(app, &place, words)
}

/// As [`of_task`], of a place that was read before.
pub(crate) fn of_place(app: &App, place: &WorkPlace, words: &[&str]) -> Result<Option<LaneWork>> {
    if let Some(lane) = &place.lane {
        return of_lane(app, lane, words).map(Some);
    }
    let Some(dir) = place.dir.here().filter(|dir| worktree_top(dir).is_some()) else { return Ok(None) };
    let empty = LaneWork { base: app.settings.project.base_branch.clone(), ..LaneWork::default() };
    Ok(Some(at(app, dir, empty)?))
}

/// The work that is checked out in the worktree around `dir`.
fn at(app: &App, dir: &Path, work: LaneWork) -> Result<LaneWork, GitError> {
    let git = Git::new(app.env.vars(), dir);
    let CheckedOut { head, operation } = git.checked_out()?;
    let head = head.map(|(commit, branch)| Head { commit, branch });
    let on = head.as_ref().and_then(|head| head.branch.as_ref());
    let tip = match &work.branch {
        Some(branch) if on != Some(branch) => Repository::of(git).branch_commit(branch)?,
        Some(_) => head.as_ref().map(|head| head.commit.clone()),
        None => None,
    };
    Ok(LaneWork { worktree: Some(dir.to_string_lossy().into_owned()), head, tip, operation, ..work })
}

fn without_worktree(app: &App, work: LaneWork) -> Result<LaneWork, GitError> {
    let git = Git::new(app.env.vars(), &app.project.root);
    let Some(branch) = work.branch.as_deref().filter(|_| worktree_top(&app.project.root).is_some()) else {
        return Ok(work);
    };
    let tip = Repository::of(git).branch_commit(branch)?;
    Ok(LaneWork { tip, ..work })
}

/// How many commits of the history of `commit` the base lacks; `None` when git cannot tell.
pub(crate) fn commits_since(app: &App, git: &Git<'_>, base: &str, commit: &str) -> Option<u64> {
    git.count_apart(&base_commit::revision(app, git, base), commit).ok().map(|(_, commits)| commits)
}
