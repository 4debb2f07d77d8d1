//! The lanes and what goes on in them.

use super::facts::Facts;
use crate::{
    domain::{
        lane::{Lane, LaneStatus},
        overlap::LaneOverlap,
        session_facts::{HeldTask, SessionOverview},
    },
    wire::{BoardDiffstatView, BoardLaneView, BoardOverlapView, HeldTaskView, SessionOverviewView},
};

/// Every lane, by name; a closed one only while it has a session or a claimed task.
pub(super) fn lanes(facts: &Facts) -> Vec<BoardLaneView> {
    let view = |lane: &Lane| {
        let is_here = |one: &&SessionOverview| one.session.lane.as_ref() == Some(&lane.name);
        let sessions: Vec<_> = facts.sessions.iter().filter(is_here).map(SessionOverviewView::from).collect();
        let is_in = |held: &&HeldTask| held.lane.as_ref() == Some(&lane.name);
        let tasks: Vec<_> = facts.held.iter().filter(is_in).map(HeldTaskView::from).collect();
        let is_shown = lane.status != LaneStatus::Closed || !sessions.is_empty() || !tasks.is_empty();
        is_shown.then(|| BoardLaneView {
            name: lane.name.to_string(),
            status: lane.status.as_str(),
            role: lane.role.as_ref().map(ToString::to_string),
            branch: lane.branch.clone(),
            base: lane.base.clone(),
            worktree: lane.worktree.clone(),
            host: lane.host.clone(),
            wip_limit: lane.wip_limit,
            provider: lane.provider.as_ref().map(ToString::to_string),
            tasks,
            sessions,
            diffstat: diffstat(facts, lane),
            overlap: overlap(facts, lane),
            cost_usd: facts.costs.of_lane(lane.name.as_str()),
        })
    };
    facts.lanes.iter().filter_map(view).collect()
}

fn diffstat(facts: &Facts, lane: &Lane) -> Option<BoardDiffstatView> {
    let found = facts.diffstats.iter().find(|one| one.lane == lane.name && one.is_known)?;
    Some(BoardDiffstatView {
        files: found.files,
        added: found.added,
        deleted: found.deleted,
        taken_at: found.taken_at.to_string(),
    })
}

fn overlap(facts: &Facts, lane: &Lane) -> Vec<BoardOverlapView> {
    let mut found: Vec<_> = facts.overlaps.iter().filter(|one| one.involves(&lane.name)).collect();
    found.sort_by_key(|one| one.level.rank());
    let view = |one: &LaneOverlap| BoardOverlapView {
        lane: one.counterpart(&lane.name).map(ToString::to_string),
        level: one.level.as_str(),
        files: one.files.iter().map(|file| file.path.clone()).collect(),
    };
    found.into_iter().map(view).collect()
}
