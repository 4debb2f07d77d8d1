//! `fairway claim`, `ready` and `release`.

use crate::common::{World, race::race};

#[test]
fn a_task_is_claimed_once_and_released() {
    let world = World::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add 'first task' --priority 1",
        "fairway task add PF-1 second --depends-on T-1",
        "fairway ready",
        "fairway ready --why",
        "fairway claim",
        "fairway claim T-1",
        "fairway claim PF-1",
        "fairway claim",
        "fairway release T-1 --reason 'out of time'",
        "fairway release T-1 --reason 'out of time'",
        "fairway task show T-1",
    ]), @"");
}

#[test]
fn of_sixteen_racing_claims_exactly_one_succeeds() {
    let world = World::new();
    world.run(["task", "add", "T-1", "only one"]).exits(0);
    let codes: Vec<_> = race(16, |_| world.fairway(["claim", "T-1"])).iter().map(|run| run.status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 15, "{codes:?}");
}
