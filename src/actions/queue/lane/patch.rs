//! The fields of a lane that a caller sets or changes, and the lane as an answer.

use std::path::Path;

use anyhow::Result;

use crate::actions::{Answer, core::lookup};
use crate::{
    domain::{LaneName, Refusal, Role, branch_name, id::Label, lane::Lane, sandbox::SandboxClass, text_limits},
    store::{ReadTx, tasks},
    wire::LaneView,
};

/// A partial update of a lane: `None` keeps a field, `Some(None)` clears it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanePatch {
    /// The title: the purpose of the lane.
    pub title: Option<Option<String>>,
    /// The role that works in the lane.
    pub role: Option<Option<Role>>,
    pub branch: Option<Option<String>>,
    /// The base: the branch that `branch` started from.
    pub base: Option<Option<String>>,
    /// The worktree's directory, an absolute path.
    pub worktree: Option<Option<String>>,
    /// The WIP limit: how many tasks may be claimed in the lane at once.
    pub wip_limit: Option<Option<i64>>,
    /// The default provider.
    pub provider: Option<Option<Label>>,
    /// The default backend.
    pub backend: Option<Option<String>>,
    /// The sandbox that each session in the lane has at least.
    pub sandbox: Option<Option<SandboxClass>>,
}

impl LanePatch {
    /// Checks the text fields.
    ///
    /// # Errors
    /// `invalid_value`, naming the field.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let line = |what: &'static str, value: &Option<Option<String>>| match value.iter().flatten().next() {
            Some(value) => text_limits::check_line(what, value).map(drop),
            None => Ok(()),
        };
        line("title", &self.title)?;
        line("worktree", &self.worktree)?;
        line("backend", &self.backend)?;
        for (what, value) in [("branch", &self.branch), ("base", &self.base)] {
            if let Some(value) = value.iter().flatten().next() {
                branch_name::check(what, value)?;
            }
        }
        Ok(())
    }
}

/// A lane's current state as a document.
pub(super) fn view(tx: &ReadTx<'_>, name: &LaneName) -> Result<LaneView> {
    let lane = lookup::lane(tx, name)?;
    Ok(LaneView::new(&lane, tasks::held_in_lane(tx, name, None)?))
}

pub(super) fn answer(tx: &ReadTx<'_>, name: &LaneName, line: impl Into<String>) -> Result<Answer> {
    Answer::new(&view(tx, name)?, name, line)
}

/// The note on a worktree of this host that a lane names and that is not there.
pub(super) fn missing_worktree(lane: &Lane) -> Option<String> {
    let dir = lane.worktree.as_deref().filter(|dir| !Path::new(dir).is_dir())?;
    let (dir, branch) = (shell_words::quote(dir), shell_words::quote(lane.branch.as_deref().unwrap_or("BRANCH")));
    Some(format!(
        "there is no directory {dir}; make the worktree before work starts in it: git worktree add {dir} {branch}"
    ))
}
