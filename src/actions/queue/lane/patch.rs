//! The fields of a lane that a caller sets or changes, and the lane as an answer.

use anyhow::Result;

use crate::actions::{Answer, core::lookup};
use crate::{
    domain::{LaneName, Refusal, Role, branch_name, id::Label, text_limits},
    store::{ReadTx, tasks},
    wire::LaneView,
};

/// What may be said about a lane; in an edit `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanePatch {
    /// What it is for.
    pub title: Option<Option<String>>,
    /// The role that works in it.
    pub role: Option<Option<Role>>,
    /// Its branch.
    pub branch: Option<Option<String>>,
    /// The branch that it came from.
    pub base: Option<Option<String>>,
    /// Its worktree's directory, absolute.
    pub worktree: Option<Option<String>>,
    /// How many tasks may be held in it at once.
    pub wip_limit: Option<Option<i64>>,
    /// Its default provider.
    pub provider: Option<Option<Label>>,
    /// Its default backend.
    pub backend: Option<Option<String>>,
}

impl LanePatch {
    /// Checks the texts.
    ///
    /// # Errors
    /// `invalid_value`, naming the field.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let line = |what: &'static str, said: &Option<Option<String>>| match said.iter().flatten().next() {
            Some(said) => text_limits::check_line(what, said).map(drop),
            None => Ok(()),
        };
        line("title", &self.title)?;
        line("worktree", &self.worktree)?;
        line("backend", &self.backend)?;
        for (what, said) in [("branch", &self.branch), ("base", &self.base)] {
            if let Some(said) = said.iter().flatten().next() {
                branch_name::check(what, said)?;
            }
        }
        Ok(())
    }
}

/// A lane as a document, as it stands in the store now.
pub(super) fn view(tx: &ReadTx<'_>, name: &LaneName) -> Result<LaneView> {
    let lane = lookup::lane(tx, name)?;
    Ok(LaneView::new(&lane, tasks::held_in_lane(tx, name, None)?))
}

pub(super) fn answer(tx: &ReadTx<'_>, name: &LaneName, line: impl Into<String>) -> Result<Answer> {
    Answer::new(&view(tx, name)?, name, line)
}
