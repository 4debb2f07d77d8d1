//! `fairway claim`, `ready` and `release`.

use crate::common::concurrent_start::race;
use crate::common::{TestProject, fixtures};

#[test]
fn task_is_claimed_once_and_released() {
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
    hint: see what it waits for: fairway task dep tree PF-1
    [exit 5]
    $ fairway claim
    error: no task is ready
    hint: see why: fairway ready --why
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
    needed by   PF-1 (todo)
    created     2026-01-01 00:00:02
    updated     2026-01-01 00:00:10

    AGO  BY  EVENT
    10s  [user]  added
    6s  [user]  claimed, epoch 1
    2s  [user]  released: in_progress → todo (out of time)
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
fn epoch_renews_guards_and_takes_over() {
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

#[test]
fn session_claim_puts_a_task_into_its_lane_and_release_takes_it_out() {
    let world = TestProject::new();
    fixtures::add_lane(&world, "a", Some(1), None);
    fixtures::add_session(&world, "s1", "r", Some("a"));
    fixtures::add_session(&world, "s2", "r", Some("a"));
    for id in ["T-1", "T-2"] {
        world.run(["task", "add", id, "one"]).exits(0);
    }
    world.run(["task", "add", "T-3", "fixed", "--lane", "a"]).exits(0);
    let claimed = world.run(["claim", "T-1", "--session", "s1", "--json"]).exits(0);
    assert!(claimed.stderr.contains("T-1 is in the lane a now"), "{claimed:?}");
    assert_eq!(claimed.json()["task"]["lane"], "a");
    let event = || -> serde_json::Value {
        let events = world.run(["events", "--json"]).exits(0).stdout;
        serde_json::from_str(events.lines().last().unwrap()).unwrap()
    };
    assert_eq!((&event()["lane"], &event()["data"]["assigned_lane"]), (&"a".into(), &"a".into()));
    // The lane counts it.
    assert_eq!(world.json(["lane", "show", "a"])["lane"]["held"], 1);
    world.run(["claim", "T-2", "--session", "s2", "--json"]).refuses(5, "lane_full");
    // A lane that a person changed stays.
    world.run(["release", "T-1", "--session", "s1"]).exits(0);
    assert_eq!(event()["data"]["unassigned_lane"], "a");
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], serde_json::Value::Null);
    world.run(["claim", "T-3", "--session", "s1"]).exits(0);
    world.run(["release", "T-3", "--session", "s1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-3"])["lane"], "a");
    // A task's work stays in its lane; a person's claim sets no lane.
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world.run(["evidence", "add", "T-1", "--result", "pass", "--session", "s1"]).exits(0);
    world.run(["done", "T-1", "--session", "s1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "a");
    assert_eq!(world.json(["claim", "T-2", "--lane", "a"])["task"]["lane"], serde_json::Value::Null);
}

#[test]
fn lane_that_a_claim_set_ends_with_a_takeover_by_another_lane() {
    let world = TestProject::new();
    for (lane, session) in [("a", "s1"), ("b", "s2")] {
        fixtures::add_lane(&world, lane, None, None);
        fixtures::add_session(&world, session, "r", Some(lane));
    }
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    let stolen = ["claim", "T-1", "--session", "s2", "--steal", "--reason", "it is ours", "--json"];
    assert_eq!(world.run(stolen).exits(0).json()["task"]["lane"], "b");
    // A person who takes over finds the work in the lane.
    let stolen = ["claim", "T-1", "--steal", "--reason", "I finish it", "--json"];
    assert_eq!(world.run(stolen).exits(0).json()["task"]["lane"], "b");
    world.run(["release", "T-1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], serde_json::Value::Null);
}

#[test]
fn claim_answers_with_the_task_as_it_is_stored() {
    let world = TestProject::new();
    for (lane, session) in [("a", "s1"), ("b", "s2")] {
        fixtures::add_lane(&world, lane, None, None);
        fixtures::add_session(&world, session, "r", Some(lane));
    }
    world.run(["task", "add", "T-1", "one", "--label", "x", "--check", "t=true", "--path", "src/**"]).exits(0);
    let steal = ["--steal", "--reason", "it is ours"];
    for words in [
        [&["claim", "T-1", "--session", "s1", "--lease", "1h"][..], &[]].concat(),
        [&["claim", "T-1", "--session", "s2"][..], &steal].concat(),
        [&["claim", "T-1", "--role", "reviewer", "--lease", "2h"][..], &steal].concat(),
    ] {
        let claimed = world.json(words.clone());
        let shown = world.json(["task", "show", "T-1"]);
        for (key, value) in claimed["task"].as_object().unwrap() {
            assert_eq!(*value, shown[key], "{key} after {words:?}");
        }
    }
}

#[test]
fn bare_claim_prefers_the_own_lane_and_can_be_restricted_to_it() {
    let world = TestProject::new();
    for lane in ["a", "b"] {
        fixtures::add_lane(&world, lane, None, None);
    }
    fixtures::add_session(&world, "s1", "r", Some("a"));
    world.run(["task", "add", "--id", "free", "no lane", "--priority", "0"]).exits(0);
    world.run(["task", "add", "--id", "other", "another lane", "--lane", "b", "--priority", "0"]).exits(0);
    world.run(["task", "add", "--id", "own", "this lane", "--lane", "a", "--priority", "4"]).exits(0);
    let claim = |flags: &[&str]| world.run([&["claim", "--session", "s1", "--json"], flags].concat());
    assert_eq!(claim(&[]).exits(0).json()["task"]["id"], "own");
    claim(&["--own-lane"]).refuses(6, "nothing_ready");
    let config = world.root().join(".fairway.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[claims]\nown_lane_only = true\n")).unwrap();
    let skipped = claim(&[]).refuses(6, "nothing_ready").error()["details"]["skipped"].clone();
    assert_eq!(skipped.as_array().unwrap().len(), 2, "{skipped}");
    assert_eq!(claim(&["--any-lane"]).exits(0).json()["task"]["id"], "free");
    assert_eq!(claim(&["--any-lane"]).exits(0).json()["task"]["id"], "other");
    world.run(["claim", "--own-lane", "--any-lane", "--json"]).refuses(2, "usage");
    world.run(["claim", "--own-lane", "--json"]).refuses(2, "usage");
}

#[test]
fn session_flag_implies_role_lane_and_task() {
    let world = TestProject::new();
    fixtures::add_lane(&world, "a", None, None);
    world.run(["task", "add", "T-1", "one", "--role", "backend", "--lane", "a", "--priority", "0"]).exits(0);
    world.run(["task", "add", "T-2", "two", "--role", "backend", "--lane", "a"]).exits(0);
    let upsert = ["session", "upsert", "--id", "d1", "--role", "backend", "--lane", "a", "--task-id", "T-2"];
    world.run(upsert).exits(0);
    // The caller's own environment is not that of the session.
    let mut command = world.fairway(["claim", "--session", "d1", "--json"]);
    command.envs([
        ("FAIRWAY_SESSION_ID", "x"),
        ("FAIRWAY_ROLE", "lead"),
        ("FAIRWAY_LANE", "b"),
        ("FAIRWAY_TASK_ID", "T-9"),
    ]);
    let claimed = crate::common::test_project::CommandOutput::from(command.output().unwrap()).exits(0).json();
    assert_eq!((&claimed["task"]["id"], &claimed["task"]["claim"]["role"]), (&"T-2".into(), &"backend".into()));
    assert_eq!(world.json(["claim", "--any", "--session", "d1"])["task"]["id"], "T-1");
}

#[test]
fn person_claims_any_task_by_its_id() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one", "--role", "backend"]).exits(0);
    world.run(["claim", "--json"]).refuses(6, "nothing_ready");
    world.run(["claim", "T-1", "--as", "frontend", "--json"]).refuses(5, "role_mismatch");
    let mut inside = world.fairway(["claim", "T-1", "--json"]);
    inside.env("FAIRWAY_RUN_ID", "0198a000-0000-7000-8000-000000000000");
    crate::common::test_project::CommandOutput::from(inside.output().unwrap()).refuses(5, "role_mismatch");
    world.run(["claim", "T-1"]).exits(0);
}

#[test]
fn several_claims_are_released_together_or_not_at_all() {
    let world = TestProject::new();
    fixtures::add_lane(&world, "a", None, None);
    fixtures::add_session(&world, "s1", "r", Some("a"));
    for id in ["T-1", "T-2", "T-3", "T-4"] {
        world.run(["task", "add", id, "one"]).exits(0);
    }
    for id in ["T-1", "T-2"] {
        world.run(["claim", id]).exits(0);
    }
    world.run(["claim", "T-3", "--session", "s1"]).exits(0);
    let status = |id: &str| world.json(["task", "show", id])["status"].as_str().unwrap().to_owned();
    world.run(["release", "T-1", "T-3", "T-2", "--json"]).refuses(4, "not_claimant");
    world.run(["release", "T-1", "T-2", "T-4", "--json"]).refuses(4, "wrong_state");
    assert_eq!(status("T-1"), "in_progress");
    insta::assert_snapshot!(world.transcript(&[
        "fairway release",
        "fairway release T-1 --all",
        "fairway release T-1 T-2 --reason 'end of the day'",
        "fairway release --all",
        "fairway release --lane a",
        "fairway release --lane a --force --reason 'the agent hangs'",
        "fairway release --lane nowhere",
        "fairway release --dead",
    ]), @"
    $ fairway release
    error: the following required arguments were not provided: <ID|--lane <LANE>|--all|--dead|--host <HOST>>
    hint: write it as: fairway release <ID|--lane <LANE>|--all|--dead|--host <HOST>>
    [exit 2]
    $ fairway release T-1 --all
    error: the argument '[ID]...' cannot be used with '--all'
    hint: write it as: fairway release <ID|--lane <LANE>|--all|--dead|--host <HOST>>
    [exit 2]
    $ fairway release T-1 T-2 --reason 'end of the day'
    released T-1: in_progress → todo
    released T-2: in_progress → todo
    $ fairway release --all
    unchanged: no claim to release
    $ fairway release --lane a
    unchanged: no claim to release
    $ fairway release --lane a --force --reason 'the agent hangs'
    released T-3: in_progress → todo
    $ fairway release --lane nowhere
    error: there is no lane 'nowhere'
    hint: list the lanes: fairway lane list
    [exit 3]
    $ fairway release --dead
    unchanged: no claim of a dead session
    ");
    assert_eq!(["T-1", "T-2", "T-3"].map(status), ["todo", "todo", "todo"]);
    world.run(["claim", "T-1"]).exits(0);
    let released = world.json(["release", "--all"]);
    assert_eq!((&released["tasks"][0]["id"], &released["tasks"][0]["status"]), (&"T-1".into(), &"todo".into()));
}
