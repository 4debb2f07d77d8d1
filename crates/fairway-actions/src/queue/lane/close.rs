//! Closes a lane and removes the worktree that Fairway made for it.

use std::path::Path;

use anyhow::Result;

use super::checkout::{self, Presence};
use super::copies::Copies;
use super::{edit, removal, status, worktree};
use crate::core::{lookup, other_host};
use crate::{Answer, App};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, SessionId};
use fairway_core::os::git::{Git, Repository};
use fairway_core::store::{WriteTx, lanes};

const VERB: &str = "remove the worktree of";

/// Closes a lane and removes its worktree and branch; `copies` says whether changed copies of ignored files keep them. The lane keeps their names, so that `lane repair` can make them
/// again.
///
/// # Errors
/// `in_use` while a session, a claim or a job needs the worktree; `unsaved_work`; `worktree_not_owned`; `no_worktree`;
/// `lane_elsewhere`.
pub fn close_and_remove(app: &App, name: &LaneName, copies: Copies) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let lane = app.read(|tx| lookup::lane(tx, name))?;
    let Some(dir) = &lane.worktree else { return Err(Refusal::LaneWithoutWorktree { lane: name.clone() }.into()) };
    if !lane.owns_worktree {
        // The hint of the refusal removes it, with the ignored files.
        removal::refuse_uncommitted(app, &lane, VERB)?;
        return Err(Refusal::WorktreeNotOwned { lane: name.clone(), dir: dir.clone() }.into());
    }
    other_host::refuse_lane(app, &lane, &["lane", "close", name.as_str(), "--rm-worktree"])?;
    let _held = worktree::lock(app, name)?;
    if is_removed(app, &lane)? {
        return status::set(app, name, LaneStatus::Closed);
    }
    copies.prepare(&lane);
    let removed = remove(app, &lane)?;
    app.mutate(|tx| {
        let line = format!("closed lane {name}, removed its worktree{}", removed.branch_text());
        Ok(edit::answer(tx, name, line)?.with_notes(removed.note.clone()))
    })
}

/// Whether both the worktree and the branch of a lane are gone.
pub(super) fn is_removed(app: &App, lane: &Lane) -> Result<bool> {
    let Presence::Missing(dir) = checkout::presence(app, lane) else { return Ok(false) };
    let git = Repository::of(Git::new(app.env.vars(), &app.project.root));
    let branch = lane.branch.as_ref().map(|branch| git.branch_commit(branch)).transpose()?.flatten();
    Ok(!dir.exists() && branch.is_none() && !git.has_worktree(&dir)?)
}

/// Returns the reason why a lane's worktree must stay for now: a session, a claim, a job or a lock of git; `None` when the
/// worktree can be removed, once the sessions `ending` have ended. Fails with `unsaved_work`.
pub(super) fn check_removable(app: &App, lane: &Lane, ending: &[SessionId]) -> Result<Option<removal::Hold>> {
    if let Some(hold) = app.read(|tx| removal::hold_in_store(tx, lane, ending))? {
        return Ok(Some(hold));
    }
    if let Some(hold) = removal::hold_in_git(app, lane)? {
        return Ok(Some(hold));
    }
    removal::refuse_unsaved(app, lane, VERB)?;
    Ok(None)
}

/// Closes a lane, then removes its worktree and branch, and records the removal. The caller holds the lane's lock. After a crash
/// in between, the next call removes the rest.
pub(super) fn remove(app: &App, lane: &Lane) -> Result<removal::Removed> {
    if let Some(hold) = check_removable(app, lane, &[])? {
        return Err(hold.refusal(lane).into());
    }
    // Closed first: no claim may use the worktree while it is removed.
    app.transaction(|tx| {
        let now = lookup::lane(tx, &lane.name)?;
        if let Some(hold) = removal::hold_in_store(tx, &now, &[])? {
            return Err(hold.refusal(&now).into());
        }
        if now.status == LaneStatus::Closed { Ok(()) } else { status::write(tx, now, LaneStatus::Closed) }
    })?;
    match removal::remove(app, lane, VERB) {
        Ok(removed) => {
            app.transaction(|tx| record(tx, lane, &removed))?;
            Ok(removed)
        }
        Err(error) => {
            // While the directory is there, nothing was removed.
            let is_present = lane.worktree.as_ref().is_some_and(|dir| Path::new(dir).exists());
            if lane.status != LaneStatus::Closed && is_present {
                app.transaction(|tx| status::write(tx, lookup::lane(tx, &lane.name)?, lane.status))?;
            }
            Err(error)
        }
    }
}

pub(super) fn record(tx: &WriteTx<'_>, lane: &Lane, removed: &removal::Removed) -> Result<()> {
    lanes::forget_host(tx, &lane.name)?;
    let (branch, commit) = removed.branch.as_ref().map(|(branch, commit)| (branch.as_str(), commit.as_str())).unzip();
    tx.record(
        &Event::new(EventKind::LaneWorktreeRemoved)
            .lane(Some(&lane.name))
            .with("worktree", lane.worktree.as_deref())
            .with("branch", branch)
            .with("commit", commit),
    )?;
    Ok(())
}
