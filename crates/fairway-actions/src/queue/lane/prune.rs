//! Removes the worktrees of lanes whose work is in their base.

use std::fmt::Write as _;

use anyhow::Result;

use super::checkout::{self, Presence};
use super::removal::{self, LaneAgents};
use super::{close, worktree};
use crate::core::{errors, other_host};
use crate::{Answer, App};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::{Refusal, commit_id, plural};
use fairway_core::store::lanes;
use fairway_core::wire::{KeptLaneView, LanePruneView, PrunedLaneView};

/// Removes the worktrees and branches that Fairway made for closed lanes; with `agents` also for those whose work has landed,
/// after their agents have ended. A worktree stays while a session, a claim or a job needs it, or while the base lacks some of
/// its work. A lane that cannot be removed does not stop the others.
pub(crate) fn prune(app: &App, dry_run: bool, agents: Option<&dyn LaneAgents>) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let mut view = LanePruneView { dry_run, ..LanePruneView::default() };
    for lane in app.read(|tx| Ok(lanes::all(tx)?))? {
        match prune_one(app, &lane, dry_run, agents) {
            Ok(Outcome::Nothing) => {}
            Ok(Outcome::Removed(removed)) => view.removed.push(removed),
            Ok(Outcome::Kept(kept)) => view.kept.push(kept),
            Err(error) => {
                let failure = errors::classify(&error);
                let why = match error.downcast_ref() {
                    Some(Refusal::UnsavedWork { why, .. }) => why.clone(),
                    _ => failure.message,
                };
                view.kept.push(KeptLaneView::new(&lane, failure.code, why, format!("fairway lane diff {}", lane.name)));
            }
        }
    }
    let ids = view.removed.iter().map(|one| one.lane.clone()).collect();
    let answer = Answer { ids, ..Answer::new(&view, "", text(&view))? };
    if dry_run { Ok(answer) } else { app.mutate(|_| Ok(answer)) }
}

enum Outcome {
    /// The lane has no worktree to remove.
    Nothing,
    Removed(PrunedLaneView),
    Kept(KeptLaneView),
}

fn prune_one(app: &App, lane: &Lane, dry_run: bool, agents: Option<&dyn LaneAgents>) -> Result<Outcome> {
    let Some(dir) = &lane.worktree else { return Ok(Outcome::Nothing) };
    let agents = agents.filter(|_| lane.status != LaneStatus::Closed);
    if agents.is_some() && !app.read(|tx| Ok(lanes::has_finished(tx, &lane.name)?))? {
        return Ok(Outcome::Nothing);
    }
    let presence = checkout::presence(app, lane);
    if presence == Presence::Elsewhere {
        let host = app.read(|tx| Ok(other_host::of_lane(tx, lane)?))?;
        let command = host.command(&["lane", "prune"]);
        return Ok(Outcome::Kept(KeptLaneView::new(
            lane,
            "lane_elsewhere",
            format!("it is on the host {}", host.name),
            command,
        )));
    }
    if let Presence::Damaged(_, why) = presence {
        let command = format!("fairway lane repair {}", lane.name);
        return Ok(Outcome::Kept(KeptLaneView::new(
            lane,
            "lane_damaged",
            format!("the lane is damaged: {why}"),
            command,
        )));
    }
    let is_missing = matches!(presence, Presence::Missing(_));
    if lane.status != LaneStatus::Closed && (agents.is_none() || is_missing) {
        let why = if is_missing { "its worktree is gone".to_owned() } else { format!("it is {}", lane.status) };
        let (code, verb) = if is_missing { ("worktree_missing", "repair") } else { (lane.status.as_str(), "close") };
        return Ok(Outcome::Kept(KeptLaneView::new(lane, code, why, format!("fairway lane {verb} {}", lane.name))));
    }
    if !lane.owns_worktree {
        removal::refuse_uncommitted(app, lane, "remove the worktree of")?;
        let command = format!("git worktree remove {}", shell_words::quote(dir));
        let why = "Fairway did not make it".to_owned();
        let outcome = if is_missing {
            Outcome::Nothing
        } else {
            Outcome::Kept(KeptLaneView::new(lane, "worktree_not_owned", why, command))
        };
        return Ok(outcome);
    }
    let _held = worktree::lock(app, &lane.name)?;
    if close::is_removed(app, lane)? {
        return Ok(Outcome::Nothing);
    }
    let hold_of = |hold: removal::Hold| Ok(Outcome::Kept(KeptLaneView::new(lane, hold.code, hold.why, hold.command)));
    let mut ending = Vec::new();
    if let Some(agents) = agents {
        let open = app.read(|tx| Ok(lanes::usage(tx, &lane.name)?.open_tasks))?;
        if open > 0 {
            let command = format!("fairway task list --lane {}", lane.name);
            return Ok(Outcome::Kept(KeptLaneView::new(
                lane,
                "open_tasks",
                format!("it has {}", plural::count(open, "open task")),
                command,
            )));
        }
        match agents.find(lane)? {
            Ok(found) => ending = found,
            Err(hold) => return hold_of(hold),
        }
        if let Some(hold) = removal::hold_by_stash(app, lane)? {
            return hold_of(hold);
        }
    }
    if let Some(hold) = close::check_removable(app, lane, &ending)? {
        return hold_of(hold);
    }
    if let Some(agents) = agents.filter(|_| !dry_run) {
        ending.iter().try_for_each(|session| agents.end(session))?;
    }
    let branch =
        if dry_run { removal::branches_to_delete(app, lane)?.branch } else { close::remove(app, lane)?.branch };
    let (branch, commit) = branch.unzip();
    let ended = ending.iter().map(ToString::to_string).collect();
    Ok(Outcome::Removed(PrunedLaneView { lane: lane.name.to_string(), worktree: dir.clone(), branch, commit, ended }))
}

fn text(view: &LanePruneView) -> String {
    let mut text = String::new();
    let verb = if view.dry_run { "would remove" } else { "removed" };
    let end = if view.dry_run { "would end" } else { "ended" };
    for one in &view.removed {
        for session in &one.ended {
            let _ = writeln!(text, "{end} {session}, whose work has landed");
        }
        let _ = write!(text, "{verb} the worktree of lane {}", one.lane);
        if let (Some(branch), Some(commit)) = (&one.branch, &one.commit) {
            let _ = write!(text, " and its branch {branch} (was {})", commit_id::short(commit));
        }
        text.push('\n');
    }
    for one in &view.kept {
        let _ = writeln!(text, "kept the worktree of lane {}: {}\n    {}", one.lane, one.why, one.command);
    }
    if text.is_empty() {
        text.push_str("no worktrees to remove\n");
    }
    text.truncate(text.trim_end().len());
    text
}
