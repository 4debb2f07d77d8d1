//! Closes a lane whose work has landed, and removes its worktree and branch when nothing is lost and no work needs them.

use std::path::Path;

use anyhow::Result;

use super::checkout::{self, Presence};
use super::removal::{self, LaneAgents};
use super::worktree::{self, Checkout};
use super::{close, setup, stack, status};
use crate::App;
use crate::core::{lookup, other_host};
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::{LaneName, SessionId, plural};
use fairway_core::os::git::{Git, LaneClone, Repository};
use fairway_core::store::lanes;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LandedLane {
    pub(crate) removed: Option<String>,
    /// The agents that have ended with it.
    pub(crate) ended: Vec<SessionId>,
    pub(crate) note: Option<String>,
}

/// Closes a lane whose work has landed, and removes the worktree and branch that Fairway made for it. Both stay, with a note,
/// when the branch has other commits or a stash, the worktree has changes or is on another host, or a session, claim, job or
/// open task needs them. `agents` end first, once nothing else keeps the lane. Does nothing for a lane that is unknown or whose
/// worktree Fairway did not make. When the call fails, at most agents have ended and the worktree was removed.
pub(crate) fn remove_landed(app: &App, name: &LaneName, commit: &str, agents: &dyn LaneAgents) -> Result<LandedLane> {
    let Some(lane) = app.read(|tx| Ok(lanes::find(tx, name)?))? else { return Ok(LandedLane::default()) };
    let Some(dir) = lane.worktree.clone().filter(|_| lane.owns_worktree) else { return Ok(LandedLane::default()) };
    let stays = |why: String| {
        let note = Some(format!("the worktree of the lane {name} stays: {why}"));
        Ok(LandedLane { note, ..LandedLane::default() })
    };
    if other_host::has_worktree(app, &lane) {
        return stays(format!("it is on the host {}", checkout::host_name(app, &lane)));
    }
    let path = Path::new(&dir);
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    if lane.status == LaneStatus::Closed && close::is_removed(app, &lane)? {
        return Ok(LandedLane::default());
    }
    if let Some(why) = removal::unlanded(app, &lane, commit)? {
        return Ok(LandedLane { note: Some(why), ..LandedLane::default() });
    }
    if app.env.cwd.starts_with(&dir) {
        return stays("you are in it".to_owned());
    }
    let held = worktree::lock(app, name)?;
    let ending = match agents.find(&lane)? {
        Ok(ending) => ending,
        Err(hold) => return stays(hold.why),
    };
    let (hold, usage) = app.read(|tx| Ok((removal::hold_in_store(tx, &lane, &ending)?, lanes::usage(tx, name)?)))?;
    if let Some(hold) = hold {
        return stays(hold.why);
    }
    if usage.open_tasks > 0 {
        return stays(format!("it has {}", plural::count(usage.open_tasks, "open task")));
    }
    if let Some(hold) =
        removal::hold_in_git(app, &lane)?.map_or_else(|| removal::hold_by_stash(app, &lane), |hold| Ok(Some(hold)))?
    {
        return stays(hold.why);
    }
    if ending.is_empty() {
        setup::tear_down(app, &lane);
    }
    let alone = worktree::lock_git(app)?;
    let deletion = removal::branches_to_delete(app, &lane)?;
    if let Some(why) = deletion.note {
        return stays(why);
    }
    if let Some(why) = removal::hold_by_sandbox(app, name) {
        return stays(why);
    }
    if let Presence::Damaged(_, why) = checkout::presence(app, &lane) {
        return stays(format!("the lane is damaged: {why}"));
    }
    let is_present = path.join(".git").exists();
    if is_present {
        // Checked again: a commit may have been added since.
        if let Some(why) = removal::unlanded(app, &lane, commit)? {
            return Ok(LandedLane { note: Some(why), ..LandedLane::default() });
        }
        if let Some(text) = worktree::uncommitted_work(app, path)?.text() {
            return stays(format!("it {text}"));
        }
    } else if path.exists() {
        return stays("it is no worktree any more".to_owned());
    }
    if !ending.is_empty() {
        drop((held, alone));
        ending.iter().try_for_each(|session| agents.end(session))?;
        // They may have written until they ended.
        let after = remove_landed(app, name, commit, agents)?;
        return Ok(LandedLane { ended: ending, ..after });
    }
    let left = removal::branches_left(app, &lane)?;
    // Closed first: no claim may use the worktree while it is removed.
    let is_free = app.transaction(|tx| {
        let now = lookup::lane(tx, name)?;
        let is_free = removal::hold_in_store(tx, &now, &[])?.is_none();
        if is_free && now.status != LaneStatus::Closed {
            status::write(tx, now, LaneStatus::Closed)?;
        }
        Ok::<_, anyhow::Error>(is_free)
    })?;
    if !is_free {
        return stays("it was taken into use again".to_owned());
    }
    // Git still has a record of a directory that is gone.
    let had_worktree = git.has_worktree(path)?;
    if had_worktree && let Err(error) = worktree::remove_worktree(app, &git, path, Checkout::Complete) {
        app.transaction(|tx| status::write(tx, lookup::lane(tx, name)?, lane.status))?;
        return Err(error);
    }
    deletion.delete_branches(&git)?;
    stack::forget(git.git(), name)?;
    drop(alone);
    let _ = LaneClone::clear(&app.project.sandbox_dir(name));
    let removed = removal::Removed { worktree: had_worktree, ..deletion };
    app.transaction(|tx| close::record(tx, &lane, &removed))?;
    Ok(LandedLane { removed: Some(dir).filter(|_| is_present), note: left, ..LandedLane::default() })
}
