//! Removing the branch and the worktree that Fairway made for a lane, unless they have work of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::worktree::{self, Checkout};
use super::{checkout, setup, stack, work};
use crate::App;
use crate::queue::base_commit;
use crate::queue::landing_unit::is_in_base;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::session::Session;
use fairway_core::domain::{LaneName, Refusal, SessionId, commit_id, plural};
use fairway_core::os::git::{Git, GitError, LaneClone, ListedWorktree, Repository};
use fairway_core::store::{ReadTx, jobs, lanes, sessions, tasks};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub(super) worktree: bool,
    /// The deleted branch and the commit that it was at.
    pub(super) branch: Option<(String, String)>,
    /// The same of the branch that was checked out in place of it.
    pub(super) own_branch: Option<(String, String)>,
    pub(super) note: Option<String>,
}

impl Removed {
    pub(super) fn delete_branches(&self, git: &Repository<'_>) -> Result<(), GitError> {
        self.branch.iter().chain(&self.own_branch).try_for_each(|(branch, commit)| git.delete_branch(branch, commit))
    }

    /// Returns the end of a sentence about the removal, which names the deleted branch with its last commit. Empty when no
    /// branch was deleted.
    pub(super) fn branch_text(&self) -> String {
        let text = |(branch, commit): &(String, String)| {
            format!(" and its branch {branch} (was {})", commit_id::short(commit))
        };
        self.branch.iter().chain(&self.own_branch).map(text).collect()
    }
}

/// The reason why a worktree cannot be removed now, and the command that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) code: &'static str,
    pub(crate) why: String,
    pub(crate) command: String,
}

/// The agents of lanes whose work has landed.
pub(crate) trait LaneAgents {
    /// The agents that are to end with the lane; else why one of them keeps it.
    fn find(&self, lane: &Lane) -> Result<Result<Vec<SessionId>, Hold>>;

    fn end(&self, session: &SessionId) -> Result<()>;
}

impl Hold {
    /// Turns this reason into the refusal of a command that concerns only `lane`.
    pub(super) fn refusal(self, lane: &Lane) -> Refusal {
        let hint = format!("do this first: {}", self.command);
        Refusal::LaneHeld { lane: lane.name.clone(), why: self.why, hint }
    }
}

/// Whether a session belongs to a lane or works in its worktree.
pub(crate) fn is_of_lane(session: &Session, lane: &Lane) -> bool {
    session.lane.as_ref() == Some(&lane.name) || session.worktree.as_deref().is_some_and(|dir| lane.is_around(dir))
}

/// The live session, claim or running job that needs a lane's worktree; `None` when nothing does but the sessions `ending`,
/// which are to end with the lane.
pub(super) fn hold_in_store(tx: &ReadTx<'_>, lane: &Lane, ending: &[SessionId]) -> Result<Option<Hold>> {
    if let Some(hold) = hold_by_session(tx, lane, ending)? {
        return Ok(Some(hold));
    }
    if let Some(child) = stack::children(tx, lane)?.first() {
        let base = shell_words::quote(lane.base.as_deref().unwrap_or_default());
        return Ok(Some(Hold {
            code: "lane_stands_on_it",
            why: format!("the lane {} stands on its branch", child.name),
            command: format!("fairway lane edit {} --base {base}", child.name),
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
    hold_by_job(tx, lane)
}

/// The session, job or setup that works in a lane's worktree; `None` without one.
pub(super) fn occupied(app: &App, lane: &Lane) -> Result<Option<Hold>> {
    let in_store = app.read(|tx| Ok(hold_by_session(tx, lane, &[])?.or(hold_by_job(tx, lane)?)))?;
    Ok(in_store.or_else(|| hold_by_setup(app, lane)))
}

fn hold_by_session(tx: &ReadTx<'_>, lane: &Lane, ending: &[SessionId]) -> Result<Option<Hold>> {
    let live = sessions::live(tx)?;
    let found = live.iter().find(|one| is_of_lane(one, lane) && !ending.contains(&one.id));
    Ok(found.map(|session| Hold {
        code: "live_session",
        why: format!("session {} is {}", session.id, session.status),
        command: format!("fairway session stop {}", session.id),
    }))
}

fn hold_by_setup(app: &App, lane: &Lane) -> Option<Hold> {
    setup::is_running(app, lane).then(|| Hold {
        code: "setting_up",
        why: "its setup or teardown runs".to_owned(),
        command: format!("fairway lane show {}", lane.name),
    })
}

fn hold_by_job(tx: &ReadTx<'_>, lane: &Lane) -> Result<Option<Hold>> {
    let running = jobs::active(tx)?.into_iter().find(|job| lane.is_around(&job.cwd));
    Ok(running.map(|job| Hold {
        code: "running_job",
        why: format!("job {} runs in its worktree", job.id.short()),
        command: format!("fairway exec kill {}", job.id.short()),
    }))
}

/// Returns the reason why the worktree cannot be removed now, its setup that runs or a lock of git; `None` without one.
pub(super) fn hold_in_git(app: &App, lane: &Lane) -> Result<Option<Hold>> {
    let Some(dir) = lane.worktree.as_ref().map(Path::new) else { return Ok(None) };
    if let Some(hold) = hold_by_setup(app, lane) {
        return Ok(Some(hold));
    }
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let quoted = lane.worktree.as_deref().map(shell_words::quote).unwrap_or_default();
    if let Some(reason) = git.listed_worktree(dir)?.and_then(|listed| listed.locked) {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let why = format!("its worktree is locked{reason}");
        return Ok(Some(Hold { code: "locked", why, command: format!("git worktree unlock {quoted}") }));
    }
    Ok(None)
}

/// Removes worktree and branch; parts that are gone already are no failure. A branch that is checked out elsewhere stays. Fails
/// with `unsaved_work`.
pub(super) fn remove(app: &App, lane: &Lane, verb: &'static str) -> Result<Removed> {
    setup::tear_down(app, lane);
    let _alone = worktree::lock_git(app)?;
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let mut had_worktree = false;
    // Asked while the worktree is there.
    let (mut deletion, left) = (branches_to_delete(app, lane)?, branches_left(app, lane)?);
    deletion.note = deletion.note.or(left);
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
    let removed = Removed { worktree: had_worktree, ..deletion };
    if removed.branch.is_some() || removed.own_branch.is_some() {
        // Checked again: a commit may have been added since. The deletion itself requires this tip.
        refuse_unsaved(app, lane, verb)?;
        removed.delete_branches(&git)?;
    }
    stack::forget(git.git(), &lane.name)?;
    let _ = LaneClone::clear(&app.project.sandbox_dir(&lane.name));
    Ok(removed)
}

/// The branches that are deleted together with the worktree: the lane's, and the one that is checked out in place of it. A branch
/// that another worktree or lane has, and one with an upstream, stays with a note.
pub(super) fn branches_to_delete(app: &App, lane: &Lane) -> Result<Removed> {
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let own = lane.worktree.as_ref().map(|dir| git.listed_worktree(Path::new(dir))).transpose()?.flatten();
    let mut found = Removed::default();
    if let Some(branch) = &lane.branch
        && let Some(tip) = git.branch_commit(branch)?
    {
        let is_other = |one: &ListedWorktree| one.branch.as_ref() == Some(branch) && Some(one) != own.as_ref();
        match git.worktrees()?.into_iter().find(is_other) {
            Some(other) => {
                found.note = Some(format!("its branch {branch} stays: it is checked out in {}", other.path.display()));
            }
            None => found.branch = Some((branch.clone(), tip)),
        }
    }
    let checked_out = own.and_then(|own| own.branch.zip(own.head));
    if let Some((branch, commit)) = checked_out.filter(|(branch, _)| lane.branch.as_ref() != Some(branch)) {
        let is_of_others = app.read(|tx| {
            let has = |one: &Lane| [&one.branch, &one.base].into_iter().flatten().any(|name| *name == branch);
            Ok(branch == app.settings.project.base_branch || lanes::all(tx)?.iter().any(has))
        })?;
        if is_of_others || git.git().upstream_ref(&branch)?.is_some() {
            found.note.get_or_insert_with(|| format!("the branch {branch} stays: it is not of this lane alone"));
        } else {
            found.own_branch = Some((branch, commit));
        }
    }
    Ok(found)
}

/// Says which branches stay that were checked out in the lane's worktree before, for they have commits that its base lacks. `None`
/// without one. A branch of another lane or of the project counts as none.
pub(super) fn branches_left(app: &App, lane: &Lane) -> Result<Option<String>> {
    let Some(dir) = lane.worktree.as_ref().map(Path::new).filter(|dir| dir.join(".git").exists()) else {
        return Ok(None);
    };
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let mut others = app.read(|tx| Ok(lanes::all(tx)?))?;
    others.retain(|one| one.name != lane.name);
    let of_lanes = others.iter().flat_map(|one| [&one.branch, &one.base]).chain([&lane.branch]).flatten();
    let known: BTreeSet<&str> =
        of_lanes.map(String::as_str).chain([checkout::base(app, lane), &app.settings.project.base_branch]).collect();
    let checked_out = git.worktrees()?.into_iter().filter_map(|one| one.branch).collect::<BTreeSet<String>>();
    let mut left = Vec::new();
    for branch in Git::new(app.env.vars(), dir).checked_out_before()? {
        let is_left = !known.contains(branch.as_str()) && !checked_out.contains(&branch);
        if let Some(tip) = git.branch_commit(&branch)?.filter(|_| is_left)
            && !is_in_base(app, git.git(), checkout::base(app, lane), &tip)?
        {
            left.push(branch);
        }
    }
    let (branches, stay) = (plural::form(left.len(), "branch", "branches"), plural::form(left.len(), "stays", "stay"));
    let has = plural::form(left.len(), "it has", "they have");
    Ok((!left.is_empty())
        .then(|| format!("the {branches} {} {stay}: {has} commits that have not landed", left.join(", "))))
}

/// Why a lane stays after its `commit` has landed: it has commits that neither that one nor the base has. `None` when it has
/// none.
pub(super) fn unlanded(app: &App, lane: &Lane, commit: &str) -> Result<Option<String>> {
    let git = Git::new(app.env.vars(), &app.project.root);
    let work = work::of_lane(app, lane, &["land"])?;
    let base = base_commit::find(app, &git, &work.base)?;
    let bases: Vec<String> = base.into_iter().chain([commit.to_owned()]).collect();
    let unlanded = |tip: &str| -> Result<usize> {
        Ok(if is_in_base(app, &git, &work.base, tip)? { 0 } else { git.history(&[tip], &bases)?.len() })
    };
    if let Some(head) = &work.head {
        let count = unlanded(&head.commit)?;
        if count > 0 {
            let (commits, stay) = (plural::count(count, "commit"), if count == 1 { "stays" } else { "stay" });
            let short = commit_id::short(commit);
            return Ok(Some(format!("{commits} since the submission at {short} {stay} in the lane {}", lane.name)));
        }
    }
    let stays = |why: &str| Some(format!("the worktree of the lane {} stays: {why}", lane.name));
    if let (Some(branch), Some(tip)) = (&work.branch, &work.tip)
        && unlanded(tip)? > 0
    {
        return Ok(stays(&format!("its branch {branch} has commits that have not landed")));
    }
    let tips = match &work.worktree {
        Some(dir) if work.damage.is_none() => Git::new(app.env.vars(), dir.as_ref()).own_tips()?,
        _ => Vec::new(),
    };
    for tip in tips {
        if unlanded(&tip)? > 0 {
            return Ok(stays("it has commits that have not landed"));
        }
    }
    Ok(None)
}

/// The reason why a lane whose work has landed stays for a stash that was made on its branch; `None` without one.
pub(super) fn hold_by_stash(app: &App, lane: &Lane) -> Result<Option<Hold>> {
    let git = Git::new(app.env.vars(), &app.project.root);
    let Some(branch) = &lane.branch else { return Ok(None) };
    let list = || format!("git -C {} stash list", shell_words::quote(&app.project.root.to_string_lossy()));
    let why = || format!("its branch {branch} has a stash");
    Ok(git.has_stash_of(branch)?.then(|| Hold { code: "unsaved_work", why: why(), command: list() }))
}

/// The reason why a lane stays while its sandbox has commits of its own; `None` when it has none.
pub(super) fn hold_by_sandbox(app: &App, lane: &LaneName) -> Option<String> {
    let dir = app.project.sandbox_dir(lane);
    if LaneClone::is_open_in(&dir) {
        let why = "a sandbox works in it, or one has ended before its commits were taken back, as the next `sandbox run` does";
        return Some(why.to_owned());
    }
    let refused = LaneClone::refused_in(&dir);
    (!refused.is_empty()).then(|| {
        let count = plural::count(refused.len(), "sandbox run");
        format!("the commits of {count} in it were not taken back; to try again: fairway sandbox take-back {lane}")
    })
}

/// Refuses with `unsaved_work` while the lane's worktree has work that is in no commit; a worktree that is gone has none.
pub(super) fn refuse_uncommitted(app: &App, lane: &Lane, verb: &'static str) -> Result<()> {
    let Some(dir) = lane.worktree.as_ref().map(Path::new).filter(|dir| dir.join(".git").exists()) else {
        return Ok(());
    };
    match worktree::uncommitted_work(app, dir)?.text() {
        Some(text) => {
            let why = format!("its worktree {text}");
            Err(Refusal::UnsavedWork { lane: lane.name.clone(), verb, why, dir: None }.into())
        }
        None => Ok(()),
    }
}

/// Refuses unless the base has everything of the lane's branch and worktree: as the same commits, as commits with the
/// same changes, or as one commit with all changes. Ignored files do not count, as for `git worktree remove`; a
/// repository in an ignored directory does.
///
/// # Errors
/// `unsaved_work`, also when git does not know the base; `lane_damaged`.
pub(super) fn refuse_unsaved(app: &App, lane: &Lane, verb: &'static str) -> Result<()> {
    let unsaved = |why: String| Refusal::UnsavedWork { lane: lane.name.clone(), verb, why, dir: None };
    if let Some(why) = hold_by_sandbox(app, &lane.name) {
        return Err(unsaved(why).into());
    }
    checkout::refuse_damaged(app, lane)?;
    let root = Git::new(app.env.vars(), &app.project.root);
    let work = work::of_lane(app, lane, &["lane", "close", lane.name.as_str()])?;
    let base = &work.base;
    let Some(base_commit) = base_commit::find(app, &root, base)? else {
        return Err(
            unsaved(format!("its base {base} is unknown to git, so merged commits cannot be determined")).into()
        );
    };
    let mut tips: Vec<(String, String)> = Vec::new();
    if let Some(dir) = lane.worktree.as_ref().map(Path::new).filter(|dir| dir.exists()) {
        if dir.join(".git").exists() {
            refuse_uncommitted(app, lane, verb)?;
            let name = work.on().map_or_else(|| "its HEAD".to_owned(), |on| format!("its branch {on}"));
            tips.extend(Git::new(app.env.vars(), dir).own_tips()?.into_iter().map(|tip| (name.clone(), tip)));
        } else if !dir.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
            let why = format!("{} is no worktree any more, and it has files", dir.display());
            return Err(unsaved(why).into());
        }
    }
    tips.extend(work.branch.iter().zip(&work.tip).map(|(branch, tip)| (format!("its branch {branch}"), tip.clone())));
    tips.dedup();
    let scratch = checkout::scratch(app, &root)?;
    for (name, tip) in tips {
        if !root.with_scratch(&scratch).has_all_changes(&base_commit, &tip)? {
            return Err(unsaved(format!("{name} has commits that are not in {base}")).into());
        }
    }
    Ok(())
}
