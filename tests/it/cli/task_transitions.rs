//! The verbs that move a task without a claim of their own.

use crate::common::TestProject;

/// Everything that a session does is found under its run.
#[test]
fn events_name_the_session_that_acts_and_its_run() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world.run(["release", "T-1", "--force", "--reason", "gone"]).exits(0);
    let lines = world.run(["events", "--json"]).exits(0).stdout;
    let events: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let who = |kind: &str| {
        let event = events.iter().find(|event| event["kind"] == kind).unwrap();
        (event["session_id"].as_str(), event["run_id"].as_str(), event["actor"].as_str() == Some("s1"))
    };
    assert_eq!(who("task.claimed"), (Some("s1"), Some("run-s1"), true));
    assert_eq!(who("task.added"), (None, None, false));
    assert_eq!(who("task.released"), (None, None, false));
}

/// Nobody's force reopens what is not closed, so none is asked for.
#[test]
fn reopen_of_a_foreign_task_is_refused() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    let run = world.run(["task", "reopen", "T-1", "--reason", "r", "--json"]).refuses(4, "wrong_state");
    assert_eq!(run.error()["details"]["status"], "in_progress");
}

/// A coordinator that looked at a claim before it forced means that claim and no later one.
#[test]
fn force_does_not_stand_in_for_the_epoch() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    let release = |epoch: &str| world.run(["release", "T-1", "--force", "--reason", "r", "--epoch", epoch, "--json"]);
    release("2").refuses(4, "stale_claim");
    release("1").exits(0);
}

#[test]
fn a_task_is_blocked_submitted_cancelled_and_taken_up_again() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 one",
        "fairway task block T-1 --reason rain",
        "fairway claim T-1",
        "fairway task block T-1",
        "fairway task block T-1 --reason rain",
        "fairway task block T-1 --reason rain",
        "fairway task unblock T-1",
        "fairway task submit T-1 --commit 0123456789abcdef",
        "fairway task unblock T-1",
        "fairway task cancel T-1 --reason 'not needed'",
        "fairway task cancel T-1 --reason 'not needed'",
        "fairway task submit T-1",
        "fairway task reopen T-1 --reason 'needed after all'",
        "fairway task show T-1",
        "fairway events --since 2",
    ]), @"
    $ fairway task add T-1 one
    added T-1
    $ fairway task block T-1 --reason rain
    error: T-1 is todo and cannot be blocked
    hint: fairway explain task T-1
    [exit 4]
    $ fairway claim T-1
    claimed T-1 under epoch 1: one
    $ fairway task block T-1
    error: block needs --reason TEXT
    [exit 2]
    $ fairway task block T-1 --reason rain
    blocked T-1: in_progress → blocked
    $ fairway task block T-1 --reason rain
    unchanged: T-1 is blocked already
    $ fairway task unblock T-1
    unblocked T-1: blocked → in_progress
    $ fairway task submit T-1 --commit 0123456789abcdef
    submitted T-1: in_progress → review
    $ fairway task unblock T-1
    error: T-1 is review and cannot be unblocked
    hint: fairway explain task T-1
    [exit 4]
    $ fairway task cancel T-1 --reason 'not needed'
    cancelled T-1: review → cancelled
    $ fairway task cancel T-1 --reason 'not needed'
    unchanged: T-1 is cancelled already
    $ fairway task submit T-1
    error: T-1 is cancelled and cannot be submitted
    hint: fairway explain task T-1
    [exit 4]
    $ fairway task reopen T-1 --reason 'needed after all'
    reopened T-1: cancelled → todo
    $ fairway task show T-1
    T-1  one
    status      todo
    ready       yes
    priority    2
    commit      0123456789abcdef
    created     2026-01-01T00:00:02.000Z
    updated     2026-01-01T00:00:14.000Z

    AGO  BY  EVENT
    13s  [user]  added
    11s  [user]  claimed, epoch 1
    9s  [user]  blocked: in_progress → blocked (rain)
    7s  [user]  unblocked: blocked → in_progress
    6s  [user]  submitted: in_progress → review
    4s  [user]  cancelled: review → cancelled (not needed)
    1s  [user]  reopened: cancelled → todo (needed after all)
    $ fairway events --since 2
    3  2026-01-01 00:00:06  task.blocked    [user]  T-1  from=in_progress to=blocked epoch=1 reason=rain
    4  2026-01-01 00:00:08  task.unblocked  [user]  T-1  from=blocked to=in_progress epoch=1
    5  2026-01-01 00:00:09  task.submitted  [user]  T-1  from=in_progress to=review epoch=1
    6  2026-01-01 00:00:11  task.cancelled  [user]  T-1  from=review to=cancelled epoch=1 reason=not needed
    7  2026-01-01 00:00:14  task.reopened   [user]  T-1  from=cancelled to=todo epoch=1 reason=needed after all
    ");
}
