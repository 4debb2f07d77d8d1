//! Removes a lane, with the branch and worktree that Fairway created for it.

use anyhow::Result;

use super::copies::Copies;
use super::removal::{self, Removed};
use super::{status, worktree};
use crate::core::{lookup, other_host};
use crate::{Answer, App};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::message::Recipient;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, plural};
use fairway_core::store::{ReadTx, WriteTx, lanes, messages};
use fairway_core::wire::LaneView;

const VERB: &str = "remove";

/// Removes a lane. A worktree that Fairway made is removed too, and the command is refused when it has unsaved work; any other
/// worktree stays. A lane with a history is only hidden, and its name can be used again. `copies` says whether changed copies of
/// ignored files keep the worktree.
///
/// # Errors
/// `in_use`, `lane_elsewhere`, `unsaved_work`.
pub fn rm(app: &App, name: &LaneName, copies: Copies) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let lane = app.read(|tx| check_unused(tx, name))?;
    if lane.owns_worktree {
        other_host::refuse_lane(app, &lane, &["lane", "rm", name.as_str()])?;
    }
    if !lane.owns_worktree {
        return app.mutate(|tx| delete(app, tx, &check_unused(tx, name)?, None));
    }
    let _held = worktree::lock(app, name)?;
    if let Some(hold) = app.read(|tx| removal::hold_in_store(tx, &lane, &[]))? {
        return Err(hold.refusal(&lane).into());
    }
    copies.prepare(&lane);
    removal::refuse_unsaved(app, &lane, VERB)?;
    // Closed first: no claim and no launch may use the worktree while it is removed.
    app.transaction(|tx| match check_unused(tx, name)? {
        lane if lane.status == LaneStatus::Closed => Ok(()),
        lane => status::write(tx, lane, LaneStatus::Closed),
    })?;
    let removed = match removal::remove(app, &lane, VERB) {
        Ok(removed) => removed,
        Err(error) => {
            if lane.status != LaneStatus::Closed {
                app.transaction(|tx| status::write(tx, lookup::lane(tx, name)?, lane.status))?;
            }
            return Err(error);
        }
    };
    app.mutate(|tx| delete(app, tx, &check_unused(tx, name)?, Some(&removed)))
}

/// The lane, unless an open record refers to it.
fn check_unused(tx: &ReadTx<'_>, name: &LaneName) -> Result<Lane> {
    let lane = lookup::lane(tx, name)?;
    let uses = lanes::usage(tx, name)?;
    let by = [
        (uses.claimed_tasks, "claimed task"),
        (uses.live_sessions, "live session"),
        (uses.open_tasks, "open task"),
        (uses.open_handoffs, "open handoff"),
    ];
    match by.into_iter().find(|(count, _)| *count > 0) {
        Some((count, what)) => {
            Err(Refusal::InUse { noun: "lane", id: name.to_string(), by: plural::count(count, what) }.into())
        }
        None if uses.open_messages > 0 => {
            let by = plural::count(uses.open_messages, "open message");
            let waiting = messages::open_for(tx, &Recipient::Lane(name.clone()))?;
            let message = waiting.first().map(|first| first.id).unwrap_or_default();
            Err(Refusal::LaneHasMessages { lane: name.clone(), message, by }.into())
        }
        None => Ok(lane),
    }
}

fn delete(app: &App, tx: &WriteTx<'_>, lane: &Lane, removed: Option<&Removed>) -> Result<Answer> {
    let has_history = lanes::usage(tx, &lane.name)?.has_history;
    if has_history {
        lanes::hide(tx, &lane.name)?;
    } else {
        lanes::delete(tx, &lane.name)?;
    }
    tx.record(
        &Event::new(EventKind::LaneRemoved)
            .lane(Some(&lane.name))
            .with("worktree", lane.worktree.as_deref())
            .with("branch", lane.branch.as_deref())
            .with("removed_worktree", removed.is_some_and(|removed| removed.worktree))
            .with("hidden", has_history),
    )?;
    let worktree = removed.filter(|removed| removed.worktree).map(|_| "its worktree".to_owned());
    let branch = removed.and_then(|removed| removed.branch.as_ref()).map(|(branch, _)| format!("its branch {branch}"));
    let line = match (worktree, branch) {
        (Some(worktree), Some(branch)) => format!("removed lane {}, {worktree} and {branch}", lane.name),
        (Some(one), None) | (None, Some(one)) => format!("removed lane {} and {one}", lane.name),
        (None, None) => format!("removed lane {}", lane.name),
    };
    let mut answer = Answer::new(&LaneView::new(lane, 0), &lane.name, line)?;
    if let (Some(dir), None) = (&lane.worktree, removed) {
        let host = other_host::has_worktree(app, lane).then(|| other_host::of_lane(tx, lane)).transpose()?;
        let on = host.map(|host| format!(" on the host {}", host.name)).unwrap_or_default();
        answer = answer.note(format!("its worktree {dir}{on} stays"));
    }
    let history = has_history.then(|| "its history stays in the event log".to_owned());
    let notes = removed.and_then(|removed| removed.note.clone()).into_iter().chain(history);
    Ok(answer.with_notes(notes))
}
