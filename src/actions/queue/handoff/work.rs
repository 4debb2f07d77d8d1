//! Where the work of a task is that is handed over: its commits stay in the lane in which they were made.

use std::path::Path;

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::lookup,
        queue::{base_commit, lane::checkout, task_worktree},
    },
    config::project::worktree_top,
    domain::{LaneName, Refusal, TaskId, lane::Lane},
    os::git::Git,
    store::lanes,
    wire::HandedWorkView,
};

/// The work of a task in a worktree of this host.
#[derive(Debug, Clone)]
pub(super) struct HandedWork {
    /// The task's lane; `None` for the worktree of a session without a lane.
    pub(super) lane: Option<LaneName>,
    pub(super) worktree: String,
    pub(super) branch: Option<String>,
    pub(super) head: String,
    /// The number of its commits that the base lacks; `None` when it is unknown.
    commits: Option<u64>,
    has_changes: bool,
}

/// Finds the work of a task before its claim moves; `None` when no worktree of it is here. Starts git.
///
/// # Errors
/// `lane_damaged`; as the store fails.
pub(super) fn find(app: &App, id: &TaskId) -> Result<Option<HandedWork>> {
    let (dir, lane) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        task_worktree::refuse_damaged(app, tx, &task)?;
        let lane = task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
        let is_worked_on = task.state.claim().is_some() || lane.is_some();
        Ok((is_worked_on.then(|| task_worktree::of_work(app, tx, &task)).transpose()?, lane))
    })?;
    let Some(dir) = dir.as_ref().and_then(|dir| dir.here()).filter(|dir| worktree_top(dir).is_some()) else {
        return Ok(None);
    };
    let git = Git::new(app.env.vars(), dir);
    let Some((head, branch)) = git.head_and_branch() else { return Ok(None) };
    let base = lane.as_ref().map_or(app.settings.project.base_branch.as_str(), |lane| checkout::base(app, lane));
    let is_of_lane = |dir: &Path| lane.as_ref().and_then(|lane| lane.worktree.as_deref()) == dir.to_str();
    Ok(Some(HandedWork {
        lane: lane.as_ref().filter(|_| is_of_lane(dir)).map(|lane| lane.name.clone()),
        worktree: dir.to_string_lossy().into_owned(),
        branch,
        commits: git.count_apart(&base_commit::revision(app, &git, base), &head).ok().map(|(_, commits)| commits),
        head,
        has_changes: git.is_clean() != Some(true),
    }))
}

impl HandedWork {
    /// The work in the worktree of a lane whose branch will be at `head`.
    ///
    /// # Errors
    /// `no_worktree`.
    pub(super) fn of_lane(app: &App, lane: &Lane, base: &str, head: &str) -> Result<Self> {
        let Some(worktree) = lane.worktree.clone() else {
            return Err(Refusal::LaneWithoutWorktree { lane: lane.name.clone() }.into());
        };
        let git = Git::new(app.env.vars(), worktree.as_ref());
        let base = base_commit::revision(app, &git, base);
        let (branch, commits) = (git.branch(), git.count_apart(&base, head).ok().map(|(_, commits)| commits));
        let (lane, has_changes) = (Some(lane.name.clone()), git.is_clean() != Some(true));
        Ok(Self { lane, branch, head: head.to_owned(), commits, has_changes, worktree })
    }

    /// The lane, or the worktree without one.
    pub(super) fn place(&self) -> String {
        self.lane.as_ref().map_or_else(|| self.worktree.clone(), |lane| format!("the lane {lane}"))
    }

    /// Whether there is anything in it that another worktree lacks. What cannot be known is something.
    pub(super) fn is_begun(&self) -> bool {
        self.commits != Some(0) || self.has_changes
    }

    /// The line of the answer.
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
