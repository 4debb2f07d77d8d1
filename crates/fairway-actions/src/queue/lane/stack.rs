//! Lanes that stand on another lane: their branch was cut from that lane's, which is their base. A ref keeps the newest commit of
//! the other lane that they have, so that their own commits are known when the other branch is rewritten, or lands as other commits.

use anyhow::Result;

use super::named;
use crate::App;
use crate::core::lookup;
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::{LaneName, Refusal};
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, lanes};

fn ref_name(lane: &LaneName) -> String {
    format!("refs/fairway/on/{lane}")
}

/// The open lanes that stand on this one.
pub(crate) fn children(tx: &ReadTx<'_>, lane: &Lane) -> Result<Vec<Lane>> {
    let all = lanes::all(tx)?;
    let stands_on_it = |one: &&Lane| one.parent(&all).is_some_and(|parent| parent.name == lane.name);
    Ok(all.iter().filter(|one| one.status != LaneStatus::Closed).filter(stands_on_it).cloned().collect())
}

/// Keeps the newest commit that the lane has of the other one.
pub(crate) fn keep(git: &Git<'_>, lane: &LaneName, commit: &str) -> Result<()> {
    let (name, before) = (ref_name(lane), git.commit(&ref_name(lane)));
    Ok(git.move_ref(&name, before.as_deref(), Some(commit))?)
}

/// Keeps the newest commit that a lane has of the one that it stands on, unless that one was rewritten since.
pub(crate) fn keep_newest(git: &Git<'_>, lane: &LaneName, (head, other): (&str, &str)) -> Result<()> {
    let Some(shared) = git.merge_base(head, other)? else { return Ok(()) };
    let is_known = git.commit(&ref_name(lane)).is_some_and(|kept| git.is_ancestor(&kept, &shared) != Some(true));
    if is_known { Ok(()) } else { keep(git, lane, &shared) }
}

/// The newest commit that a lane has of the one that it stood on, if its base has that one's work as other commits by now: the
/// lane's own commits come after it.
pub(crate) fn replaced(git: &Git<'_>, lane: &LaneName, (head, base): (&str, &str)) -> Option<String> {
    let kept = git.commit(&ref_name(lane))?;
    let has = |commit: &str| git.is_ancestor(&kept, commit) == Some(true);
    (has(head) && !has(base)).then_some(kept)
}

/// Forgets what a lane stood on.
pub(super) fn forget(git: &Git<'_>, lane: &LaneName) -> Result<()> {
    let name = ref_name(lane);
    if git.commit(&name).is_some() {
        git.move_ref(&name, None, None)?;
    }
    Ok(())
}

/// The branch from which a lane on a task's work, or on a lane, is cut.
///
/// # Errors
/// `not_found` without such a lane; `no_commit` when it has no branch.
pub fn branch_below(app: &App, on: &str) -> Result<String> {
    let name = named::lane_or_task(app, Some(on))?;
    let lane = app.read(|tx| lookup::lane(tx, &name))?;
    Ok(lane.branch.ok_or(Refusal::NoLaneCommit { lane: name, branch: None, known: None })?)
}
