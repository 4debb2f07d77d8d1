//! Lanes whose worktrees an agent's program wants, for its subagents.

use std::path::PathBuf;

use anyhow::Result;

use super::copies::Copies;
use super::{LanePatch, add, checkout, rm, setup};
use crate::App;
use crate::core::lookup;
use fairway_core::domain::{LaneName, Refusal};
use fairway_core::store::lanes;

/// The worktree of the lane with this name, made ready. A lane that is there is taken up again.
///
/// # Errors
/// `no_worktree` for a lane without one; `setup_failed`, `untrusted`; those of `lane add`.
pub fn make(app: &App, name: &str) -> Result<PathBuf> {
    let is_usual = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    let name: String = name.chars().map(|one| if is_usual(one) { one } else { '-' }).collect();
    let name = LaneName::parse(&name)?;
    if app.read(|tx| Ok(lanes::find(tx, &name)?))?.is_none() {
        match add::add_with_worktree(app, &name, &LanePatch::default()) {
            // The program may have asked twice at once.
            Err(error) if !matches!(error.downcast_ref(), Some(Refusal::AlreadyExists { .. })) => return Err(error),
            _ => {}
        }
    }
    let lane = app.read(|tx| lookup::lane(tx, &name))?;
    setup::ensure(app, &lane)?;
    checkout::dir(app, &lane, &["lane", "show", name.as_str()])
}

/// Removes the lane with this worktree, unless that has work of its own. Another directory stays as it is.
///
/// # Errors
/// `unsaved_work`, `in_use`: the lane stays.
pub fn remove(app: &App, dir: &str) -> Result<()> {
    let found = app.read(|tx| Ok(lanes::all(tx)?))?.into_iter().find(|lane| lane.worktree.as_deref() == Some(dir));
    found.map_or(Ok(()), |lane| rm::rm(app, &lane.name, Copies::Keep).map(drop))
}
