//! Recorded features with a recorded truth: a part of what `cargo bench --bench cooper` reports.

use std::path::Path;

#[path = "../../../benches/cooper/features.rs"]
mod features;
#[path = "../../../benches/cooper/radar.rs"]
mod radar;
#[path = "../../../benches/cooper/trees.rs"]
mod trees;

use radar::Score;

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
