//! Pointers to commits of submodules: only a commit that others can get lands.

use std::path::Path;

use anyhow::Result;

use super::{base::Base, unit::Unit};
use crate::{
    actions::App,
    domain::Refusal,
    os::git::{Git, SubmoduleRefs},
};

/// Refuses a candidate that points to a commit of a submodule which the checkout of the base does not have, and which no
/// remote of the lane's submodule has. `git` has the candidate.
///
/// # Errors
/// `submodule_commit_missing`, `git_failed`.
pub(super) fn check(app: &App, git: &Git<'_>, unit: &Unit, base: &Base, candidate: &str) -> Result<()> {
    let checkout = base.checkout.as_deref().unwrap_or(&app.project.root);
    let lane_dir = unit.dir(app);
    for pointer in git.new_submodule_pointers(&base.commit, candidate)? {
        let has = |dir: &Path, refs| Git::new(app.env.vars(), dir).submodule_has(&pointer, refs);
        let is_pushed = || lane_dir.as_deref().map_or(Ok(false), |dir| has(dir, SubmoduleRefs::Remotes));
        if has(checkout, SubmoduleRefs::All)? || is_pushed()? {
            continue;
        }
        let in_lane = lane_dir.as_deref().zip(unit.lane_name());
        let (of, base, path, commit) = (unit.label(), base.name.clone(), pointer.path.clone(), pointer.commit.clone());
        let place = |dir: &Path| shell_words::quote(&dir.join(&path).to_string_lossy()).into_owned();
        let command = match in_lane {
            Some((dir, lane)) => format!("git -C {} push origin {commit}:refs/heads/{lane}", place(dir)),
            None => format!("git -C {} fetch", place(checkout)),
        };
        let is_in_lane = in_lane.is_some();
        return Err(Refusal::SubmoduleCommitMissing { of, base, path, commit, command, is_in_lane }.into());
    }
    Ok(())
}
