//! Removing the branch and the worktree that Fairway made for a lane, unless they have work of their own.

use std::{fs, path::Path};

use anyhow::Result;

use super::{
    checkout,
    worktree::{self, Checkout},
};
use crate::{
    actions::{App, queue::base_commit},
    domain::{Refusal, commit_id, lane::Lane},
    os::git::{Git, LaneClone, ListedWorktree, Repository},
    store::{ReadTx, jobs, sessions, tasks},
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub(super) worktree: bool,
    /// The deleted branch and the commit that it was at.
    pub(super) branch: Option<(String, String)>,
    pub(super) note: Option<String>,
}

impl Removed {
    /// Returns the end of a sentence about the removal, which names the deleted branch with its last commit. Empty when no
    /// branch was deleted.
    pub(super) fn branch_text(&self) -> String {
        match &self.branch {
            Some((branch, commit)) => {
                format!(" and its branch {branch} (was {})", commit_id::short(commit))
            }
            None => String::new(),
        }
    }
}

/// The reason why a worktree cannot be removed now, and the command that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) code: &'static str,
    pub(super) why: String,
    pub(super) command: String,
}

impl Hold {
    /// Turns this reason into the refusal of a command that concerns only `lane`.
    pub(super) fn refusal(self, lane: &Lane) -> Refusal {
        let hint = format!("then try again: {}", self.command);
        Refusal::LaneHeld { lane: lane.name.clone(), why: self.why, hint }
    }
}

/// The live session, claim or running job that needs a lane's worktree; `None` when nothing does.
pub(super) fn hold_in_store(tx: &ReadTx<'_>, lane: &Lane) -> Result<Option<Hold>> {
    let is_inside = |path: &str| lane.worktree.as_ref().is_some_and(|dir| Path::new(path).starts_with(dir));
    let live = sessions::live(tx)?;
    let mut in_lane = live
        .iter()
        .filter(|one| one.lane.as_ref() == Some(&lane.name) || one.worktree.as_deref().is_some_and(is_inside));
    if let Some(session) = in_lane.next() {
        return Ok(Some(Hold {
            code: "live_session",
            why: format!("session {} is {}", session.id, session.status),
            command: format!("fairway session stop {}", session.id),
        }));
    }
    let mut claimed = None;
    tasks::for_each(tx, tasks::ListScope::Claimed, |task| {
        if task.fields.lane.as_ref() == Some(&lane.name) {
            claimed = Some(task);
        }
        Ok(claimed.is_none())
    })?;
    if let Some(task) = claimed {
        let by = task.state.claim().map(|claim| claim.claimant.clone()).unwrap_or_default();
        return Ok(Some(Hold {
            code: "claimed_task",
            why: format!("{} is claimed by {by}", task.id),
            command: format!("fairway release {} --force --reason TEXT", task.id),
        }));
    }
    let running = jobs::active(tx)?.into_iter().find(|job| is_inside(&job.cwd));
    Ok(running.map(|job| Hold {
        code: "running_job",
        why: format!("job {} runs in its worktree", job.id.short()),
        command: format!("fairway exec kill {}", job.id.short()),
    }))
}

/// Returns the reason why git would not remove the worktree, a lock or submodules; `None` when git would remove it.
pub(super) fn hold_in_git(app: &App, lane: &Lane) -> Result<Option<Hold>> {
    let Some(dir) = lane.worktree.as_ref().map(Path::new) else { return Ok(None) };
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let quoted = lane.worktree.as_deref().map(shell_words::quote).unwrap_or_default();
    if let Some(reason) = git.listed_worktree(dir)?.and_then(|listed| listed.locked) {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let why = format!("its worktree is locked{reason}");
        return Ok(Some(Hold { code: "locked", why, command: format!("git worktree unlock {quoted}") }));
    }
    if dir.join(".gitmodules").exists() {
        let why = "its worktree has submodules, and git removes such a worktree only by force".to_owned();
        return Ok(Some(Hold { code: "submodules", why, command: format!("git worktree remove --force {quoted}") }));
    }
    Ok(None)
}

/// Removes worktree and branch; parts that are gone already are no failure. A branch that is checked out elsewhere stays. Fails
/// with `unsaved_work`.
pub(super) fn remove(app: &App, lane: &Lane, verb: &'static str) -> Result<Removed> {
    let _alone = worktree::lock_git(app)?;
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let mut had_worktree = false;
    if let Some(dir) = lane.worktree.as_ref().map(Path::new)
        && git.has_worktree(dir)?
    {
        had_worktree = true;
        if !dir.join(".git").exists() {
            // Only an empty directory goes; git drops its own record of a directory that is gone.
            let _ = fs::remove_dir(dir);
        }
        worktree::remove_worktree(app, &git, dir, Checkout::Complete)?;
    }
    let removed = Removed { worktree: had_worktree, ..branch_to_delete(app, lane)? };
    if let Some((branch, tip)) = &removed.branch {
        // Checked again: a commit may have been added since. The deletion itself requires this tip.
        refuse_unsaved(app, lane, verb)?;
        git.delete_branch(branch, tip)?;
    }
    let _ = LaneClone::clear(&app.project.sandbox_dir(&lane.name));
    Ok(removed)
}

/// The branch that is deleted together with the worktree, or a note why it stays. Neither when the lane has no branch, or the
/// branch is gone.
pub(super) fn branch_to_delete(app: &App, lane: &Lane) -> Result<Removed> {
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let Some(branch) = &lane.branch else { return Ok(Removed::default()) };
    let Some(tip) = git.branch_commit(branch)? else { return Ok(Removed::default()) };
    let own = lane.worktree.as_ref().map(|dir| git.listed_worktree(Path::new(dir))).transpose()?.flatten();
    let is_other = |one: &ListedWorktree| one.branch.as_ref() == Some(branch) && Some(one) != own.as_ref();
    if let Some(other) = git.worktrees()?.into_iter().find(is_other) {
        let note = format!("its branch {branch} stays: it is checked out in {}", other.path.display());
        return Ok(Removed { note: Some(note), ..Removed::default() });
    }
    Ok(Removed { branch: Some((branch.clone(), tip)), ..Removed::default() })
}

/// The reason why a lane stays while its sandbox has commits of its own.
pub(super) const SANDBOX_IS_OPEN: &str =
    "a sandbox works in it, or one has ended before its commits were taken back, as the next `sandbox run` does";

/// Refuses unless the base has everything of the lane's branch and worktree: as the same commits, as commits with the
/// same changes, or as one commit with all changes. Ignored files do not count, as for `git worktree remove`; a
/// repository in an ignored directory does.
///
/// # Errors
/// `unsaved_work`, also when git does not know the base; `lane_damaged`.
pub(super) fn refuse_unsaved(app: &App, lane: &Lane, verb: &'static str) -> Result<()> {
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
            if let Some(text) = worktree::uncommitted_work(app, dir)?.text() {
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
