//! The order in which work lands: dependencies first, then the order that lets most of it land without rework.

use std::collections::{BTreeMap, BTreeSet};

/// Work that is ready to land.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandingItem {
    /// Its priority; 0 is the most urgent.
    pub priority: u8,
    /// The places of the items that must land before it.
    pub depends_on: Vec<usize>,
}

/// The items in the order of their landing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandingOrder {
    /// The places of the items. The items of one wave do not conflict with each other. A later wave lands after its work was
    /// updated to the waves before.
    pub waves: Vec<Vec<usize>>,
}

impl LandingOrder {
    /// The places, in the list of items, of all items in the order in which they land.
    pub fn order(&self) -> Vec<usize> {
        self.waves.concat()
    }
}

/// Orders the items for landing. `conflicts` are pairs of places whose work cannot both land without rework; a place outside of
/// `items` is ignored. Each wave is chosen greedily: of the items whose dependencies have landed, the one that excludes the
/// fewest others comes first, then the most urgent, then the first in the list.
pub fn landing_order(items: &[LandingItem], conflicts: &[(usize, usize)]) -> LandingOrder {
    let mut neighbours: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); items.len()];
    for (one, other) in conflicts.iter().filter(|(one, other)| one != other) {
        if let Some(set) = neighbours.get_mut(*one).filter(|_| *other < items.len()) {
            set.insert(*other);
        }
        if let Some(set) = neighbours.get_mut(*other).filter(|_| *one < items.len()) {
            set.insert(*one);
        }
    }
    let mut left: BTreeSet<usize> = (0..items.len()).collect();
    let mut waves = Vec::new();
    while let Some(first) = left.first().copied() {
        let mut wave = next_wave(items, &neighbours, &mut left);
        if wave.is_empty() {
            // The dependencies of all that is left form a cycle.
            left.remove(&first);
            wave.push(first);
        }
        waves.push(wave);
    }
    LandingOrder { waves }
}

/// Takes one wave out of `left`.
fn next_wave(items: &[LandingItem], neighbours: &[BTreeSet<usize>], left: &mut BTreeSet<usize>) -> Vec<usize> {
    let (mut wave, mut open) = (Vec::new(), left.clone());
    loop {
        let has_landed = |place: &usize| !left.contains(place);
        let can_land = |place: &&usize| items.get(**place).is_some_and(|item| item.depends_on.iter().all(has_landed));
        let rank = |place: &&usize| {
            let excluded = neighbours.get(**place).map_or(0, |all| all.intersection(&open).count());
            (excluded, items.get(**place).map_or(u8::MAX, |item| item.priority), **place)
        };
        let Some(next) = open.iter().filter(can_land).min_by_key(rank).copied() else { return wave };
        left.remove(&next);
        open.remove(&next);
        for neighbour in neighbours.get(next).into_iter().flatten() {
            open.remove(neighbour);
        }
        wave.push(next);
    }
}

/// For each of `tips`, the places of the other tips that it contains. `history` lists commits with their parents; a commit that
/// it lacks ends the search there. Equal tips do not contain each other.
pub fn contained_tips(history: &[(String, Vec<String>)], tips: &[&str]) -> Vec<Vec<usize>> {
    let parents: BTreeMap<&str, &[String]> =
        history.iter().map(|(commit, parents)| (commit.as_str(), parents.as_slice())).collect();
    let contains = |tip: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![tip]);
        while let Some(commit) = open.pop() {
            for parent in parents.get(commit).copied().unwrap_or_default() {
                if parents.contains_key(parent.as_str()) && seen.insert(parent.as_str()) {
                    open.push(parent);
                }
            }
        }
        seen
    };
    let places = |tip: &&str| {
        let below = contains(tip);
        tips.iter().enumerate().filter(|(_, other)| below.contains(**other)).map(|(place, _)| place).collect()
    };
    tips.iter().map(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(priorities: &[u8]) -> Vec<LandingItem> {
        priorities.iter().map(|priority| LandingItem { priority: *priority, depends_on: Vec::new() }).collect()
    }

    #[test]
    fn items_that_exclude_few_others_land_first() {
        // 0 conflicts with all others, which conflict with nothing else.
        let order = landing_order(&items(&[0, 2, 2, 2]), &[(0, 1), (0, 2), (3, 0)]);
        assert_eq!(order.waves, [vec![1, 2, 3], vec![0]]);
        assert_eq!(order.order(), [1, 2, 3, 0]);
    }

    #[test]
    fn priority_then_place_break_ties() {
        assert_eq!(landing_order(&items(&[2, 1, 2]), &[(0, 1), (1, 2), (0, 2)]).waves, [vec![1], vec![0], vec![2]]);
        assert_eq!(landing_order(&items(&[2, 0, 1]), &[]).waves, [vec![1, 2, 0]]);
    }

    #[test]
    fn dependencies_land_before_their_dependents_also_within_a_wave() {
        let mut work = items(&[0, 2, 2]);
        work[0].depends_on = vec![1];
        work[1].depends_on = vec![2];
        assert_eq!(landing_order(&work, &[]).waves, [vec![2, 1, 0]]);
        // A dependency in a conflict with its dependent comes first all the same.
        assert_eq!(landing_order(&work, &[(0, 1)]).waves, [vec![2, 1], vec![0]]);
        // One that waits for a wave holds back its dependents.
        assert_eq!(landing_order(&work, &[(1, 2)]).waves, [vec![2], vec![1, 0]]);
    }

    #[test]
    fn tips_contain_those_that_their_history_reaches() {
        let commit = |id: &str, parents: &[&str]| (id.to_owned(), parents.iter().map(|&one| one.to_owned()).collect());
        // `m` merges `a` and `b`; `base` is cut off.
        let history = [commit("m", &["a", "b"]), commit("a", &["base"]), commit("b", &["c"]), commit("c", &["base"])];
        let tips = ["a", "m", "c", "base", "a", "b"];
        let expected = [vec![], vec![0, 2, 4, 5], vec![], vec![], vec![], vec![2]];
        assert_eq!(contained_tips(&history, &tips), expected);
    }

    #[test]
    fn cycles_and_places_without_an_item_end() {
        let mut work = items(&[2, 2]);
        work[0].depends_on = vec![1];
        work[1].depends_on = vec![0];
        assert_eq!(landing_order(&work, &[(0, 0), (0, 7), (9, 1)]).order(), [0, 1]);
        assert_eq!(landing_order(&[], &[(0, 1)]), LandingOrder::default());
    }
}
