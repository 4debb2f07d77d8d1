//! The order in which units land.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use super::base::full_name;
use crate::App;
use crate::queue::landing_unit::{Unit, project_git};
use fairway_core::domain::rules::landing_order::{LandingItem, contained_tips, landing_order};
use fairway_core::os::git::{MergeOutcome, MergeRepository};

/// The time limit of all merges together.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// Units in the order in which they land.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    pub(super) units: Vec<Unit>,
    /// For each unit the indices of those that must land before it.
    pub(super) depends_on: Vec<Vec<usize>>,
}

/// Puts units in the order in which they land. Work that other units build on comes first. The order then lets the most
/// units land without conflict, and the priority decides between the rest.
pub(super) fn order(app: &App, merges: &MergeRepository, units: Vec<Unit>) -> Result<Ordered> {
    if units.len() < 2 {
        let depends_on = vec![Vec::new(); units.len()];
        return Ok(Ordered { units, depends_on });
    }
    let tips: Vec<&str> = units.iter().map(|unit| unit.commit.as_str()).collect();
    let contained = contained_tips(&project_git(app)?.history(&tips, &base_commits(app, &units)?)?, &tips);
    let mut items: Vec<LandingItem> = Vec::new();
    for (own, (unit, contained)) in units.iter().zip(contained).enumerate() {
        let others = units.iter().enumerate();
        let is_before =
            |place: &usize, other: &Unit| *place != own && !contained.contains(place) && depends_on(unit, other);
        let named = others.filter(|(place, other)| is_before(place, other));
        let named: Vec<usize> = named.map(|(place, _)| place).collect();
        items.push(LandingItem { priority: unit.priority(), depends_on: [contained, named].concat() });
    }
    let places = (0..units.len()).flat_map(|one| (one + 1..units.len()).map(move |other| (one, other)));
    let base = |place: usize| units.get(place).map(|unit| &unit.base);
    let pairs: Vec<(usize, usize)> = places.filter(|(one, other)| base(*one) == base(*other)).collect();
    let commit = |place: usize| units.get(place).map(|unit| unit.commit.clone()).unwrap_or_default();
    let commits: Vec<(String, String)> = pairs.iter().map(|(one, other)| (commit(*one), commit(*other))).collect();
    let outcomes = merges.merge_all(&commits, MERGE_TIMEOUT)?;
    let is_conflict = |outcome: &MergeOutcome| matches!(outcome, MergeOutcome::Conflict { .. });
    let conflicts: Vec<(usize, usize)> =
        pairs.iter().zip(&outcomes).filter(|(_, outcome)| is_conflict(outcome)).map(|(pair, _)| *pair).collect();
    let order = landing_order(&items, &conflicts).order();
    let new_place = |old: &usize| order.iter().position(|one| one == old);
    let depends_on = |old: &usize| {
        items.get(*old).map(|item| item.depends_on.iter().filter_map(new_place).collect()).unwrap_or_default()
    };
    let depends_on = order.iter().map(depends_on).collect();
    let mut left: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
    let units = order.iter().filter_map(|place| left.get_mut(*place)?.take()).collect();
    Ok(Ordered { units, depends_on })
}

/// The commits of the bases. The commits that a base contains do not count for the order.
fn base_commits(app: &App, units: &[Unit]) -> Result<Vec<String>> {
    let git = project_git(app)?;
    let names: BTreeSet<&str> = units.iter().map(|unit| unit.base.as_str()).collect();
    Ok(names.into_iter().filter_map(|name| git.commit(&full_name(name))).collect())
}

/// Whether a task of `unit` depends on one of `other`.
fn depends_on(unit: &Unit, other: &Unit) -> bool {
    let on = |id| other.members.iter().any(|member| member.task.id == id);
    unit.members.iter().any(|member| member.task.fields.depends_on.iter().any(|id| on(id.clone())))
}
