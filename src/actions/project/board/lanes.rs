//! The lanes and what goes on in them.

use super::facts::Facts;
use crate::{
    domain::{
        lane::{Lane, LaneStatus},
        session_facts::{HeldTask, SessionOverview},
    },
    wire::{BoardLaneView, HeldTaskView, SessionOverviewView},
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
            wip_limit: lane.wip_limit,
            provider: lane.provider.as_ref().map(ToString::to_string),
            tasks,
            sessions,
            diffstat: None,
            overlap: None,
            cost_usd: facts
                .costs
                .iter()
                .find(|(name, _)| name.as_deref() == Some(lane.name.as_str()))
                .map(|(_, cost)| *cost),
        })
    };
    facts.lanes.iter().filter_map(view).collect()
}
