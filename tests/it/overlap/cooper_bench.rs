//! Recorded features with a recorded truth: a part of what `cargo bench --bench cooper` reports.

use std::path::Path;

#[path = "../../../benches/cooper/features.rs"]
pub(super) mod features;
#[path = "../../../benches/cooper/lanes.rs"]
mod lanes;
#[path = "../../../benches/cooper/radar.rs"]
mod radar;
#[path = "../../../benches/cooper/trees.rs"]
mod trees;

use features::{Feature, base_of};
use lanes::{Arm, work};
use radar::Score;

/// Five workers in real lanes, of whom most conflict.
#[test]
fn hook_stops_workers_that_conflict_and_what_the_others_finish_lands() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cooper");
    let task = "go_chi/56";
    let numbers = [1, 2, 3, 4, 5];
    let all = numbers.map(|number| Feature::read(&data.join(task).join(format!("{number}.patch"))));
    let all: Vec<&Feature> = all.iter().collect();
    let base = base_of(&all).unwrap();
    let recorded = features::pairs(&data);
    let clash = |one: usize, other: usize| {
        let numbers = [numbers[one.min(other)], numbers[one.max(other)]];
        recorded.iter().any(|pair| pair.task == task && [pair.a, pair.b] == numbers && pair.conflict)
    };
    let done = work(env!("CARGO_BIN_EXE_fairway"), &all, &base, Arm::Hook, 3);
    // Each was stopped for a conflict that is in the record, and those that went on have none.
    assert!(done.stopped.iter().all(|(one, other, _)| clash(*one, *other)), "{done:?}");
    assert_eq!((done.landed.len() + done.stopped.len(), done.sent_back.len()), (all.len(), 0), "{done:?}");
    assert!(done.landed.iter().all(|one| done.landed.iter().all(|other| one == other || !clash(*one, *other))));
    // Without the hook those that conflict finish in vain.
    let alone = work(env!("CARGO_BIN_EXE_fairway"), &all, &base, Arm::Alone, 1);
    assert_eq!((alone.landed.len() + alone.sent_back.len(), alone.stopped.len()), (all.len(), 0), "{alone:?}");
    assert!(!done.landed.is_empty() && done.reworked < alone.reworked, "{done:?} {alone:?}");
}

#[test]
fn recorded_conflicts_are_found_and_warned_of_when_one_side_is_half_done() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cooper");
    let wants = |task: &str| ["/43", "/2800", "/2956"].iter().any(|end| task.ends_with(end));
    let (radar, made, left_out) = trees::made(&data, wants, &[5]);
    assert_eq!((made.len(), left_out), (85, 0));
    let whole: Vec<_> = made.iter().map(|one| (one.base, one.whole[0], one.whole[1])).collect();
    let half: Vec<_> = made
        .iter()
        .flat_map(|one| {
            let [first, second] = one.partial[0].1;
            [(one.base, one.whole[0], second), (one.base, first, one.whole[1])]
        })
        .collect();
    let (mut finished, mut early) = (Score::default(), Score::default());
    for (one, said) in made.iter().zip(radar.judge(&whole)) {
        finished.add(said.conflict, one.pair.conflict);
    }
    for (place, said) in radar.judge(&half).into_iter().enumerate() {
        early.add(said.warns(), made[place / 2].pair.conflict);
    }
    assert_eq!((finished.false_alarms, finished.missed), (0, 0), "{finished:?}");
    assert!(early.precision() >= 0.97 && early.recall() >= 0.91, "{early:?}");
    assert!(made.iter().any(|one| one.shares_path[&(10, 10)] && !one.pair.conflict), "file names would do");
}
