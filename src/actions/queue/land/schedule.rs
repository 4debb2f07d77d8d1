//! The order in which units land.

use std::time::Duration;

use anyhow::Result;

use super::unit::{Unit, project_git};
use crate::{
    actions::App,
    domain::rules::landing_order::{LandingItem, landing_order},
    os::git::{MergeOutcome, MergeRepository},
};

/// The time limit of all merges together.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// Orders units: what others build on first, then so that most land without rework, then by priority.
///
/// # Errors
/// As git fails.
pub(super) fn order(app: &App, merges: &MergeRepository, units: Vec<Unit>) -> Result<Vec<Unit>> {
    if units.len() < 2 {
        return Ok(units);
    }
    let git = project_git(app)?;
    let places = || (0..units.len()).flat_map(|one| (one + 1..units.len()).map(move |other| (one, other)));
    let mut pairs = Vec::new();
    let mut items: Vec<LandingItem> =
        units.iter().map(|unit| LandingItem { priority: unit.priority(), depends_on: Vec::new() }).collect();
    for (one, other) in places() {
        let (Some(left), Some(right)) = (units.get(one), units.get(other)) else { continue };
        for (place, unit, on, dependency) in [(one, left, other, right), (other, right, one, left)] {
            let is_contained =
                dependency.commit != unit.commit && git.is_ancestor(&dependency.commit, &unit.commit) == Some(true);
            if let Some(item) = items.get_mut(place)
                && (is_contained || depends_on(unit, dependency))
            {
                item.depends_on.push(on);
            }
        }
        if left.base == right.base {
            pairs.push((one, other));
        }
    }
    let commit = |place: usize| units.get(place).map(|unit| unit.commit.clone()).unwrap_or_default();
    let commits: Vec<(String, String)> = pairs.iter().map(|(one, other)| (commit(*one), commit(*other))).collect();
    let outcomes = merges.merge_all(&commits, MERGE_TIMEOUT)?;
    let is_conflict = |outcome: &MergeOutcome| matches!(outcome, MergeOutcome::Conflict { .. });
    let conflicts: Vec<(usize, usize)> =
        pairs.iter().zip(&outcomes).filter(|(_, outcome)| is_conflict(outcome)).map(|(pair, _)| *pair).collect();
    let order = landing_order(&items, &conflicts).order();
    let mut left: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|place| left.get_mut(place)?.take()).collect())
}

/// Whether a task of `unit` depends on one of `other`.
fn depends_on(unit: &Unit, other: &Unit) -> bool {
    let on = |id| other.members.iter().any(|member| member.task.id == id);
    unit.members.iter().any(|member| member.task.fields.depends_on.iter().any(|id| on(id.clone())))
}
