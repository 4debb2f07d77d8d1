//! The lane of a start: the requested one, that of the task or of the role, or the task's own lane with a worktree.

use anyhow::Result;

use crate::App;
use crate::core::{lookup, other_host};
use crate::queue::lane::copies::Copies;
use crate::queue::lane::{LanePatch, add, rm};
use fairway_core::config::project::worktree_top;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::task::Task;
use fairway_core::domain::{LaneName, Refusal, TaskId};
use fairway_core::store::lanes;

use super::StartRequest;

/// A lane, and whether it is still to be added.
#[derive(Debug, Clone)]
pub(super) struct TaskLane {
    pub(super) lane: Lane,
    pub(super) is_new: bool,
}

impl TaskLane {
    /// Reads the lane again, after it was added.
    ///
    /// # Errors
    /// `not_found` when it was removed meanwhile.
    pub(super) fn made(&self, app: &App) -> Result<Self> {
        let lane = app.read(|tx| lookup::lane(tx, &self.lane.name))?;
        Ok(Self { lane, is_new: false })
    }
}

/// The name of a task's own lane: the task's id with `-` for `.`, because a lane's name has no dots.
pub(crate) fn own_name(task: &TaskId) -> Result<LaneName, Refusal> {
    Ok(LaneName::parse(&task.as_str().replace('.', "-"))?)
}

/// Chooses the lane of a task. A lane that an earlier start of the task has added is used again.
///
/// # Errors
/// `not_found` for a lane that does not exist; `lane_elsewhere`; `no_worktree` without a repository; `git_failed` and
/// `not_found` when no worktree can be made.
pub(super) fn find(app: &App, task: &Task, request: &StartRequest) -> Result<TaskLane> {
    let of_role = || app.settings.role(request.role.as_ref().or(task.fields.role.as_ref())?).lane;
    let named = request.lane.clone().or_else(|| task.fields.lane.clone()).or_else(of_role);
    let existing = |lane| {
        other_host::refuse_lane(app, &lane, &["start", task.id.as_str()])?;
        Ok(TaskLane { lane, is_new: false })
    };
    if let Some(name) = named {
        return app.read(|tx| lookup::lane(tx, &name)).and_then(existing);
    }
    let name = own_name(&task.id)?;
    match app.read(|tx| Ok(lanes::find(tx, &name)?))? {
        Some(lane) => existing(lane),
        None if worktree_top(&app.project.root).is_none() => {
            let consequence = "no lane with a worktree can be made";
            Err(Refusal::NoRepository { consequence, root: app.project.root.display().to_string() }.into())
        }
        None => Ok(TaskLane { lane: add::planned(app, &name, &LanePatch::default())?, is_new: true }),
    }
}

/// Adds the lane and its worktree, if it is new. Returns whether it was added.
pub(super) fn make(app: &App, place: &TaskLane) -> Result<bool> {
    if !place.is_new {
        return Ok(false);
    }
    match add::add_with_worktree(app, &place.lane.name, &LanePatch::default()) {
        Ok(_) => Ok(true),
        // Another start of the task was faster.
        Err(error) if matches!(error.downcast_ref(), Some(Refusal::AlreadyExists { noun: "lane", .. })) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the lane again, with its branch and worktree, unless it contains work. A note says whether it was removed.
pub(super) fn unmake(app: &App, place: &TaskLane, notes: &mut Vec<String>) {
    let name = &place.lane.name;
    notes.push(match rm::rm(app, name, Copies::Keep) {
        Ok(_) => format!("removed the lane {name} again"),
        Err(error) => format!("the lane {name} stays: {error}"),
    });
}
