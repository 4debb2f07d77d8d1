//! How right the warnings about overlap are, on recorded features with a recorded truth, and what they save. Prints the
//! section of `BENCHMARKS.md`.
//!
//! `cargo bench --bench cooper`; `FAIRWAY_COOPER_DATA` names another data directory of the same form. `cargo bench --bench cooper
//! -- hook` prints one table only: `warnings`, `arms`, `lanes`, `hook` or `looks`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::panic,
    missing_docs,
    reason = "a measuring program"
)]

mod arms;
mod features;
mod hook;
mod lanes;
mod looks;
mod radar;
mod trees;
mod workers;

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;

use radar::Score;

/// The shares of a feature's steps that are looked at, in tenths.
const TENTHS: [usize; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

fn main() {
    let data = env::var_os("FAIRWAY_COOPER_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cooper")), PathBuf::from);
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if words.is_empty() || words.iter().any(|word| word == "warnings") {
        warnings(&data);
    }
    if words.is_empty() || words.iter().any(|word| word == "arms") {
        arms::report(&data);
    }
    if words.is_empty() || words.iter().any(|word| word == "lanes") {
        workers::report(&data);
    }
    if words.is_empty() || words.iter().any(|word| word == "hook") {
        hook::report();
    }
    if words.is_empty() || words.iter().any(|word| word == "looks") {
        looks::report();
    }
}

/// The program of the build that this one belongs to: it is `target/release/deps/cooper-…`.
fn program() -> PathBuf {
    env::current_exe().unwrap().ancestors().nth(2).unwrap().join("fairway")
}

fn warnings(data: &std::path::Path) {
    let (radar, made, left_out) = trees::made(data, |_| true, &TENTHS);
    let tasks: BTreeSet<String> = made.iter().map(|one| one.pair.task.clone()).collect();
    let tasks: Vec<String> = tasks.into_iter().collect();
    println!("{} pairs; the base of {left_out} more cannot be made\n", made.len());
    println!("| what | precision | recall |\n|---|---|---|");
    let whole: Vec<_> = made.iter().map(|one| (one.base, one.whole[0], one.whole[1])).collect();
    let mut finished = Score::default();
    for (one, said) in made.iter().zip(radar.judge(&whole)) {
        finished.add(said.conflict, one.pair.conflict);
    }
    row("`conflict`, both finished, against the record", finished);
    for tenth in TENTHS {
        // The first writer has finished, the second one is on its way; both orders.
        let asked: Vec<_> = made
            .iter()
            .flat_map(|one| {
                let [first, second] = one.partial.iter().find(|(share, _)| *share == tenth).unwrap().1;
                [(one.base, one.whole[0], second), (one.base, first, one.whole[1])]
            })
            .collect();
        let (mut ours, mut merge, mut names) = (Score::default(), Score::default(), Score::default());
        let mut halves = [Score::default(); 2];
        for (place, said) in radar.judge(&asked).into_iter().enumerate() {
            let one = &made[place / 2];
            let shares = one.shares_path[&if place % 2 == 0 { (10, tenth) } else { (tenth, 10) }];
            ours.add(said.warns(), one.pair.conflict);
            let number = tasks.iter().position(|task| *task == one.pair.task).unwrap();
            halves[number % 2].add(said.warns(), one.pair.conflict);
            merge.add(said.conflict, one.pair.conflict);
            names.add(shares, one.pair.conflict);
        }
        row(&format!("one finished, one at {} %: `conflict` or `adjacent`", tenth * 10), ours);
        if tenth == 5 {
            for (half, name) in halves.iter().zip(["odd", "even"]) {
                row(&format!("the same, {name} tasks only"), *half);
            }
            row("the same, `conflict` alone", merge);
            row("the same, by file name", names);
        }
    }
    println!();
    first_warnings(&radar, &made);
}

/// Both write at the same pace: when the first warning comes, and when the first conflict.
fn first_warnings(radar: &radar::Radar, made: &[trees::Made]) {
    let (mut ahead, mut by_name, mut clashes, mut alarms, mut name_alarms) = (0, 0, 0, 0, 0);
    let mut first: Vec<[Option<usize>; 3]> = vec![[None; 3]; made.len()];
    for tenth in TENTHS.into_iter().chain([10]) {
        let marks = |one: &trees::Made| match one.partial.iter().find(|(share, _)| *share == tenth) {
            Some((_, marks)) => *marks,
            None => one.whole,
        };
        let asked: Vec<_> = made.iter().map(|one| (one.base, marks(one)[0], marks(one)[1])).collect();
        for (place, said) in radar.judge(&asked).into_iter().enumerate() {
            let shares = made[place].shares_path[&(tenth, tenth)];
            for (kind, is_so) in [said.warns(), said.conflict, shares].into_iter().enumerate() {
                if is_so && first[place][kind].is_none() {
                    first[place][kind] = Some(tenth);
                }
            }
        }
    }
    for (one, [warning, clash, name]) in made.iter().zip(&first) {
        if one.pair.conflict {
            let clash = clash.unwrap_or(10);
            clashes += 1;
            ahead += clash - warning.unwrap_or(clash).min(clash);
            by_name += clash - name.unwrap_or(clash).min(clash);
        } else {
            alarms += usize::from(warning.is_some());
            name_alarms += usize::from(name.is_some());
        }
    }
    let quiet = made.len() - clashes;
    println!("| both write at the same pace, ten steps | by file name | ours |\n|---|---|---|");
    let mean = |steps: usize| format!("{:.1} steps", radar::ratio(steps, clashes));
    println!("| from the first warning to the clash, mean of {clashes} | {} | {} |", mean(by_name), mean(ahead));
    println!("| false alarms, of {quiet} pairs that merge | {name_alarms} | {alarms} |\n");
}

fn row(what: &str, score: Score) {
    println!("| {what} | {:.3} | {:.3} |", score.precision(), score.recall());
}
