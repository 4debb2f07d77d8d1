//! The recorded pairs as commits of one repository: bases, finished features, and features that are written in part.

use std::collections::BTreeMap;
use std::path::Path;

use super::features::{Base, Feature, Import, Pair, base_of, pairs};
use super::radar::Radar;

/// The features of the data, by task and number.
pub type Features = BTreeMap<(String, usize), Feature>;

/// A pair whose base could be made.
pub struct Made {
    pub pair: Pair,
    /// The marks of the base and of both finished features.
    pub base: usize,
    pub whole: [usize; 2],
    /// For each share of the steps, in tenths: the marks of both features after it.
    pub partial: Vec<(usize, [usize; 2])>,
    /// Whether both features change a path in common after those shares.
    pub shares_path: BTreeMap<(usize, usize), bool>,
}

/// Every feature that a pair names.
pub fn features(data: &Path, all: &[Pair]) -> Features {
    let mut found = Features::new();
    for pair in all {
        for number in [pair.a, pair.b] {
            let path = data.join(&pair.task).join(format!("{number}.patch"));
            found.entry((pair.task.clone(), number)).or_insert_with(|| Feature::read(&path));
        }
    }
    found
}

/// The pairs of the tasks that `wants` takes, as commits, with the features after each share of their steps in tenths; and the
/// number of pairs whose base could not be made.
pub fn made(data: &Path, wants: impl Fn(&str) -> bool, tenths: &[usize]) -> (Radar, Vec<Made>, usize) {
    let all: Vec<Pair> = pairs(data).into_iter().filter(|pair| wants(&pair.task)).collect();
    let known = features(data, &all);
    let (mut import, mut found, mut left_out) = (Import::default(), Vec::new(), 0);
    // Most tasks have one base for all their features; then each state of a feature is one commit.
    let mut bases: BTreeMap<&str, Option<(Base, usize)>> = BTreeMap::new();
    let mut written: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
    let mut touched: BTreeMap<(usize, usize), Vec<Vec<String>>> = BTreeMap::new();
    for pair in &all {
        let feature = |number: usize| &known[&(pair.task.clone(), number)];
        let both = [feature(pair.a), feature(pair.b)];
        let of_task = bases.entry(&pair.task).or_insert_with(|| {
            let wanted = known.iter().filter(|((task, _), _)| *task == pair.task).map(|(_, feature)| feature);
            let wanted: Vec<&Feature> = wanted.collect();
            let base = base_of(&wanted)?;
            let root = import.commit(&wanted[0].after(&base, 0), None);
            Some((base, root))
        });
        let of_pair = || {
            let base = base_of(&both)?;
            let root = import.commit(&both[0].after(&base, 0), None);
            Some((base, root))
        };
        let Some((base, root)) = of_task.clone().or_else(of_pair) else {
            left_out += 1;
            continue;
        };
        let mut write = |number: usize, steps: usize| {
            *written
                .entry((root, number, steps))
                .or_insert_with(|| import.commit(&feature(number).after(&base, steps), Some(root)))
        };
        let numbers = [pair.a, pair.b];
        let whole = numbers.map(|number| write(number, feature(number).size()));
        let partial: Vec<(usize, [usize; 2])> = tenths
            .iter()
            .map(|tenth| (*tenth, numbers.map(|number| write(number, steps(feature(number), *tenth)))))
            .collect();
        for number in numbers {
            touched.entry((root, number)).or_insert_with(|| {
                let shares = tenths.iter().chain(&[10]);
                shares.map(|tenth| feature(number).paths_after(&base, steps(feature(number), *tenth))).collect()
            });
        }
        let shares = shares_path(numbers.map(|number| touched[&(root, number)].as_slice()), tenths);
        found.push(Made { pair: pair.clone(), base: root, whole, partial, shares_path: shares });
    }
    (Radar::import(import), found, left_out)
}

/// So many tenths of a feature's changed lines, rounded up.
pub fn steps(feature: &Feature, tenths: usize) -> usize {
    (feature.size() * tenths).div_ceil(10)
}

fn shares_path(paths: [&[Vec<String>]; 2], tenths: &[usize]) -> BTreeMap<(usize, usize), bool> {
    let tenths: Vec<usize> = tenths.iter().copied().chain([10]).collect();
    let mut found = BTreeMap::new();
    for (one, ours) in tenths.iter().zip(paths[0]) {
        for (other, theirs) in tenths.iter().zip(paths[1]) {
            found.insert((*one, *other), ours.iter().any(|path| theirs.contains(path)));
        }
    }
    found
}
