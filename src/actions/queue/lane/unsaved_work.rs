//! Whether the work in a lane's branch and worktree exists elsewhere too.

use std::path::Path;

use anyhow::Result;

use super::{checkout, worktree_removal};
use crate::{
    actions::{App, queue::base_commit},
    domain::{Refusal, lane::Lane},
    os::git::{Git, LaneClone, Repository},
};

/// Why a lane is kept whose sandbox has commits of its own.
pub(super) const SANDBOX_IS_OPEN: &str =
    "a sandbox works in it, or one has ended before its commits were taken back, as the next `sandbox run` does";

/// Refuses unless everything in the lane's branch and worktree is in its base too, as the same commits, as commits with the
/// same changes, or as one commit with all changes. An unknown base is refused. Ignored files do not count, as for
/// `git worktree remove`; a repository in an ignored directory does.
///
/// # Errors
/// `unsaved_work`, `lane_damaged`, `git_failed`.
pub(super) fn check(app: &App, lane: &Lane, verb: &'static str) -> Result<()> {
    let unsaved = |why: String| Refusal::UnsavedWork { lane: lane.name.clone(), verb, why, dir: None };
    if LaneClone::is_open_in(&app.project.sandbox_dir(&lane.name)) {
        return Err(unsaved(SANDBOX_IS_OPEN.to_owned()).into());
    }
    checkout::refuse_damaged(app, lane)?;
    let root = Git::new(app.env.vars(), &app.project.root);
    let base = checkout::base(app, lane);
    let Some(base_commit) = base_commit::find(app, &root, base)? else {
        return Err(
            unsaved(format!("its base {base} is unknown to git, so merged commits cannot be determined")).into()
        );
    };
    let mut tips = Vec::new();
    if let Some(dir) = lane.worktree.as_ref().map(Path::new).filter(|dir| dir.exists()) {
        if dir.join(".git").exists() {
            if let Some(text) = worktree_removal::uncommitted_work(app, dir)?.text() {
                return Err(unsaved(format!("its worktree {text}")).into());
            }
            tips.extend(Git::new(app.env.vars(), dir).own_tips()?);
        } else if !dir.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
            let why = format!("{} is no worktree any more, and it has files", dir.display());
            return Err(unsaved(why).into());
        }
    }
    if let Some(branch) = &lane.branch {
        tips.extend(Repository::of(root).branch_commit(branch)?);
    }
    tips.dedup();
    let scratch = checkout::scratch(app, &root)?;
    for tip in tips {
        if !root.with_scratch(&scratch).has_all_changes(&base_commit, &tip)? {
            let branch = lane.branch.as_deref().unwrap_or("HEAD");
            return Err(unsaved(format!("its branch {branch} has commits that are not in {base}")).into());
        }
    }
    Ok(())
}
