//! `fairway claim`, `ready` and `release`.

use crate::common::{TestProject, concurrent_start::race};

#[test]
fn a_task_is_claimed_once_and_released() {
    let world = TestProject::new();
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
    ]), @"
    $ fairway task add 'first task' --priority 1
    added T-1
    $ fairway task add PF-1 second --depends-on T-1
    added PF-1
    $ fairway ready
    ID   P  STATUS  ROLE  LANE  HELD BY  TITLE
    T-1  1  todo    -     -     -        first task
    $ fairway ready --why
    ID    TITLE   WHY NOT
    PF-1  second  T-1 is todo
    $ fairway claim
    claimed T-1: first task
    $ fairway claim T-1
    error: T-1 is already claimed by you (epoch 1)
    hint: to renew its lease: fairway claim T-1 --epoch 1
    [exit 4]
    $ fairway claim PF-1
    error: PF-1 has unfinished dependencies: T-1 is in_progress
    hint: fairway task dep tree PF-1
    [exit 5]
    $ fairway claim
    error: no task is ready
    hint: fairway ready --why
    [exit 6]
    $ fairway release T-1 --reason 'out of time'
    released T-1: in_progress → todo
    $ fairway release T-1 --reason 'out of time'
    unchanged: T-1 is todo already
    $ fairway task show T-1
    T-1  first task
    status      todo
    ready       yes
    priority    1
    created     2026-01-01T00:00:02.000Z
    updated     2026-01-01T00:00:10.000Z
    ");
}

#[test]
fn sixteen_racing_claims_succeed_once() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "only one"]).exits(0);
    let codes: Vec<_> = race(16, |_| world.fairway(["claim", "T-1"])).iter().map(|run| run.status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 15, "{codes:?}");
}

#[test]
fn an_epoch_renews_guards_and_takes_over() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    // Nobody has held it: epoch 0, and a claim that insists on that.
    world.run(["claim", "T-1", "--epoch", "1", "--json"]).refuses(4, "stale_claim");
    let claimed = world.json(["claim", "T-1", "--epoch", "0", "--lease", "30m"]);
    assert_eq!(claimed["task"]["claim"]["epoch"], 1);
    world.advance_clock(60);
    world.run(["claim", "T-1", "--epoch", "1", "--lease", "0s", "--json"]).refuses(2, "invalid_value");
    let renewed = world.json(["claim", "T-1", "--epoch", "1"]);
    assert!(renewed["task"]["claim"]["lease_until"].as_str() > claimed["task"]["claim"]["lease_until"].as_str());
    assert_eq!(renewed["task"]["claim"]["epoch"], 1);
    let events = world.run(["events", "--json"]).exits(0).stdout;
    assert!(events.lines().last().unwrap().contains(r#""kind":"task.renewed""#), "{events}");
    world.run(["release", "T-1", "--epoch", "0", "--json"]).refuses(4, "stale_claim");
    world.run(["claim", "T-1", "--steal", "--reason", "mine", "--json"]).refuses(4, "already_yours");
    // An expired lease frees nothing by itself; it lets the next claim take over.
    world.advance_clock(3_600);
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "in_progress");
    let taken = world.json(["claim"]);
    assert_eq!((&taken["task"]["id"], &taken["task"]["claim"]["epoch"]), (&"T-1".into(), &2.into()));
}
