//! Remove a lane, with the branch and worktree that Fairway created for it.

use std::path::Path;

use anyhow::Result;

use super::{status, worktree};
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{
        Event, EventKind, LaneName, Refusal,
        lane::{Lane, LaneStatus},
    },
    os::git::{Git, Repository},
    store::{ReadTx, WriteTx, lanes},
    wire::LaneView,
};

/// Removes an unused lane. A worktree that Fairway created is removed too, unless it holds unsaved work. Any other worktree
/// stays.
///
/// # Errors
/// `in_use`, `unsaved_work`, `git_failed`.
pub fn rm(app: &App, name: &LaneName) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let lane = app.read(|tx| check_unused(tx, name))?;
    let made = if lane.owns_worktree { lane.branch.clone().zip(lane.worktree.clone()) } else { None };
    let Some((branch, dir)) = made else {
        return app.mutate(|tx| delete(tx, &check_unused(tx, name)?, None));
    };
    let _held = worktree::lock(app, name)?;
    let git = Repository::around(Git::new(app.env.vars(), &app.project.root))?;
    let dir = Path::new(&dir);
    check_merged(app, &git, &lane, &branch, dir)?;
    // Closed first: no claim and no launch may use the worktree while it is removed.
    app.transaction(|tx| match check_unused(tx, name)? {
        lane if lane.status == LaneStatus::Closed => Ok(()),
        lane => status::write(tx, lane, LaneStatus::Closed),
    })?;
    let taken = remove_worktree_and_branch(app, &git, &lane, &branch, dir);
    if let Err(error) = taken {
        if lane.status != LaneStatus::Closed {
            app.transaction(|tx| status::write(tx, lookup::lane(tx, name)?, lane.status))?;
        }
        return Err(error);
    }
    app.mutate(|tx| delete(tx, &check_unused(tx, name)?, Some(&branch)))
}

/// The lane, if it is unused.
fn check_unused(tx: &ReadTx<'_>, name: &LaneName) -> Result<Lane> {
    let lane = lookup::lane(tx, name)?;
    let uses = lanes::usage(tx, name)?;
    let by = [
        (uses.claimed_tasks, "claimed task(s)"),
        (uses.live_sessions, "live session(s)"),
        (uses.tasks, "task(s)"),
        (uses.sessions, "ended session(s)"),
        (uses.handoffs, "handoff(s)"),
        (uses.messages, "message(s)"),
    ];
    match by.into_iter().find(|(count, _)| *count > 0) {
        Some((count, what)) => {
            Err(Refusal::InUse { noun: "lane", id: name.to_string(), by: format!("{count} {what}") }.into())
        }
        None => Ok(lane),
    }
}

/// Refuses unless everything in branch and worktree is in the base too. An unknown base is refused.
fn check_merged(app: &App, git: &Repository<'_>, lane: &Lane, branch: &str, dir: &Path) -> Result<()> {
    let unsaved = |why: String| Refusal::UnsavedWork { lane: lane.name.clone(), why };
    let base = lane.base.as_ref().unwrap_or(&app.settings.base_branch);
    let Some(base_commit) = git.commit(base)? else {
        return Err(
            unsaved(format!("its base {base} is unknown to git, so merged commits cannot be determined")).into()
        );
    };
    let mut tips = Vec::new();
    if dir.exists() {
        let inside = Repository::around(Git::new(app.env.vars(), dir))?;
        let changes = inside.changes()?;
        if !changes.is_empty() {
            let shown = changes.iter().map(|line| line.trim()).collect::<Vec<_>>().join(", ");
            return Err(unsaved(format!("its worktree holds changes that are in no commit ({shown})")).into());
        }
        tips.extend(inside.commit("HEAD")?);
    }
    tips.extend(git.branch_commit(branch)?);
    for tip in tips {
        if !git.is_merged(&base_commit, &tip)? {
            return Err(unsaved(format!("its branch {branch} has commits that are not in {base}")).into());
        }
    }
    Ok(())
}

fn remove_worktree_and_branch(app: &App, git: &Repository<'_>, lane: &Lane, branch: &str, dir: &Path) -> Result<()> {
    let _alone = worktree::lock_git(app)?;
    if dir.exists() && git.has_worktree(dir)? {
        git.remove_worktree(dir, false)?;
    }
    if let Some(tip) = git.branch_commit(branch)? {
        // Checked again: a commit may have been added since. The deletion itself requires this tip.
        check_merged(app, git, lane, branch, dir)?;
        git.delete_branch(branch, &tip)?;
    }
    Ok(())
}

fn delete(tx: &WriteTx<'_>, lane: &Lane, branch: Option<&str>) -> Result<Answer> {
    lanes::delete(tx, &lane.name)?;
    tx.record(
        &Event::new(EventKind::LaneRemoved)
            .lane(Some(&lane.name))
            .with("worktree", lane.worktree.as_deref())
            .with("branch", lane.branch.as_deref())
            .with("removed_worktree", branch.is_some()),
    )?;
    let line = match branch {
        Some(branch) => format!("removed lane {}, its worktree and its branch {branch}", lane.name),
        None => format!("removed lane {}", lane.name),
    };
    let answer = Answer::new(&LaneView::new(lane, 0), &lane.name, line)?;
    Ok(match (&lane.worktree, branch) {
        (Some(dir), None) => answer.note(format!("its worktree {dir} stays")),
        _ => answer,
    })
}
