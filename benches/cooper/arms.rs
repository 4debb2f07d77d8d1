//! Whole tasks: all features of a task are wanted. What lands without rework when they all start at once, when those that touch
//! the same files wait for each other, and when those that conflict do.

use std::collections::BTreeMap;
use std::path::Path;

use fairway_core::domain::rules::landing_order::{LandingItem, landing_order};

use super::features::{Feature, Import, base_of, pairs};
use super::radar::{Radar, ratio};
use super::trees;

/// The result of one arm.
#[derive(Default)]
struct Arm {
    /// How many landed of what was started at once.
    landed: usize,
    /// How many were sent back.
    reworked: usize,
    /// Their changed lines.
    lines: usize,
    /// How many waves it took.
    waves: usize,
}

/// Prints the table.
pub fn report(data: &Path) {
    let all = pairs(data);
    let known = trees::features(data, &all);
    let mut tasks: BTreeMap<&str, Vec<(usize, &Feature)>> = BTreeMap::new();
    for ((task, number), feature) in &known {
        tasks.entry(task).or_default().push((*number, feature));
    }
    let (mut none, mut names, mut ours, mut best) = (Arm::default(), Arm::default(), Arm::default(), Arm::default());
    let (mut count, mut left_out) = (0, 0);
    for wanted in tasks.values() {
        // A feature that starts from another base than the others is left out.
        let mut kept: Vec<&Feature> = Vec::new();
        for (_, feature) in wanted {
            kept.push(feature);
            if base_of(&kept).is_none() {
                kept.pop();
                left_out += 1;
            }
        }
        count += kept.len();
        let base = base_of(&kept).unwrap();
        let mut import = Import::default();
        let root = import.commit(&kept[0].after(&base, 0), None);
        let marks: Vec<usize> =
            kept.iter().map(|feature| import.commit(&feature.after(&base, feature.size()), Some(root))).collect();
        let places: Vec<(usize, usize)> =
            (0..kept.len()).flat_map(|one| (one + 1..kept.len()).map(move |other| (one, other))).collect();
        let asked: Vec<_> = places.iter().map(|(one, other)| (root, marks[*one], marks[*other])).collect();
        let said = Radar::import(import).judge(&asked);
        let conflicts: Vec<(usize, usize)> =
            places.iter().zip(&said).filter(|(_, said)| said.conflict).map(|(pair, _)| *pair).collect();
        let paths = |place: usize| kept[place].paths_after(&base, kept[place].size());
        let shared: Vec<(usize, usize)> = places
            .iter()
            .filter(|(one, other)| paths(*one).iter().any(|path| paths(*other).contains(path)))
            .copied()
            .collect();
        let items = vec![LandingItem { priority: 2, depends_on: Vec::new() }; kept.len()];
        let clash = |one: usize, other: usize| conflicts.contains(&(one.min(other), one.max(other)));
        let mut landed: Vec<usize> = Vec::new();
        for (place, feature) in kept.iter().enumerate() {
            if landed.iter().any(|other| clash(place, *other)) {
                none.reworked += 1;
                none.lines += feature.size();
            } else {
                landed.push(place);
            }
        }
        none.landed += landed.len();
        for (arm, graph) in [(&mut names, &shared), (&mut ours, &conflicts)] {
            let waves = landing_order(&items, graph).waves;
            arm.landed += waves.first().map_or(0, Vec::len);
            arm.waves += waves.len();
        }
        best.landed += most_independent(kept.len(), &conflicts);
        best.waves += fewest_waves(kept.len(), &conflicts);
    }
    println!("{count} features of {} tasks; {left_out} more start from another base\n", tasks.len());
    println!("| arm | started at once and landed | sent back | lines to do again | waves until all have landed |");
    println!("|---|---|---|---|---|");
    println!("| no coordination, by number | {} | {} | {} | – |", none.landed, none.reworked, none.lines);
    println!("| those with a file in common wait | {} | 0 | 0 | {} |", names.landed, names.waves);
    println!("| those that conflict wait (ours) | {} | 0 | 0 | {} |", ours.landed, ours.waves);
    println!("| the best there is (exhaustive search) | {} | 0 | 0 | {} |", best.landed, best.waves);
    println!("\nours against the best: {:.1} %\n", 100.0 * ratio(ours.landed, best.landed));
}

/// For each set of items, as bits, whether none of them conflict.
fn independent(count: usize, conflicts: &[(usize, usize)]) -> Vec<bool> {
    let is_free = |set: usize| !conflicts.iter().any(|(one, other)| set >> one & 1 == 1 && set >> other & 1 == 1);
    (0..1usize << count).map(is_free).collect()
}

fn most_independent(count: usize, conflicts: &[(usize, usize)]) -> usize {
    let free = independent(count, conflicts);
    let sizes = (0..1usize << count).filter(|set| free[*set]).map(usize::count_ones);
    sizes.max().map_or(0, |size| size as usize)
}

fn fewest_waves(count: usize, conflicts: &[(usize, usize)]) -> usize {
    let free = independent(count, conflicts);
    let mut fewest = vec![usize::MAX; 1 << count];
    fewest[0] = 0;
    for set in 1..1usize << count {
        let mut part = set;
        while part > 0 {
            if free[part] {
                fewest[set] = fewest[set].min(fewest[set & !part] + 1);
            }
            part = (part - 1) & set;
        }
    }
    fewest[(1 << count) - 1]
}
