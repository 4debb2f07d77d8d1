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

/// No force reopens a task that is not closed, so none is asked for.
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
fn task_is_blocked_submitted_cancelled_and_taken_up_again() {
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
    hint: claim it first: fairway claim T-1
    [exit 4]
    $ fairway claim T-1
    claimed T-1: one
    $ fairway task block T-1
    error: block needs --reason TEXT
    hint: say why: fairway task block T-1 --reason TEXT
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
    hint: resume it: fairway task resume T-1
    [exit 4]
    $ fairway task cancel T-1 --reason 'not needed'
    cancelled T-1: review → cancelled
    $ fairway task cancel T-1 --reason 'not needed'
    unchanged: T-1 is cancelled already
    $ fairway task submit T-1
    error: T-1 is cancelled and cannot be submitted
    hint: reopen it first: fairway task reopen T-1 --reason TEXT
    [exit 4]
    $ fairway task reopen T-1 --reason 'needed after all'
    reopened T-1: cancelled → todo
    $ fairway task show T-1
    T-1  one
    status      todo
    ready       yes
    priority    2
    commit      0123456789abcdef
    created     2026-01-01 00:00:02
    updated     2026-01-01 00:00:14

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

/// Every verb from every state that it does not lead from names the command that leads on.
#[test]
fn wrong_state_names_the_next_command() {
    let world = TestProject::new();
    world.add_session("s1");
    let hint = |words: &str| -> String {
        let words: Vec<&str> = words.split(' ').chain(["--json", "--session", "s1"]).collect();
        let error = world.run(words).refuses(4, "wrong_state").error();
        error["hint"].as_str().unwrap().to_owned()
    };
    let claim = "claim it first: fairway claim T-1";
    world.run(["task", "add", "T-1", "one"]).exits(0);
    assert_eq!(hint("done T-1"), claim);
    assert_eq!(hint("task submit T-1"), claim);
    assert_eq!(hint("task block T-1 --reason r"), claim);
    assert_eq!(hint("release T-1"), "claim it: fairway claim T-1");
    assert_eq!(hint("task unblock T-1"), "claim it: fairway claim T-1");
    assert_eq!(hint("task resume T-1"), "claim it: fairway claim T-1");
    assert_eq!(hint("task reopen T-1 --reason r"), "claim it: fairway claim T-1");
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    assert_eq!(hint("task reopen T-1 --reason r"), "release it instead: fairway release T-1");
    assert_eq!(hint("task resume T-1"), "submit it first: fairway task submit T-1");
    world.run(["task", "block", "T-1", "--reason", "r", "--session", "s1"]).exits(0);
    assert_eq!(hint("done T-1"), "unblock it first: fairway task unblock T-1");
    assert_eq!(hint("task submit T-1"), "unblock it first: fairway task unblock T-1");
    assert_eq!(hint("task resume T-1"), "unblock it: fairway task unblock T-1");
    world.run(["task", "unblock", "T-1", "--session", "s1"]).exits(0);
    world.run(["task", "submit", "T-1", "--session", "s1"]).exits(0);
    assert_eq!(hint("task unblock T-1"), "resume it: fairway task resume T-1");
    assert_eq!(hint("task block T-1 --reason r"), "resume it first: fairway task resume T-1");
    world.run(["evidence", "add", "T-1", "--result", "pass", "--session", "s1"]).exits(0);
    world.run(["done", "T-1", "--session", "s1"]).exits(0);
    let reopen = "reopen it first: fairway task reopen T-1 --reason TEXT";
    for words in
        ["claim T-1", "release T-1", "task submit T-1", "task unblock T-1", "handoff create T-1 --to r --summary s"]
    {
        assert_eq!(hint(words), reopen, "{words}");
    }
    assert_eq!(hint("task cancel T-1 --reason r"), "see its history: fairway task show T-1");
}

/// A claim from before a restore is stale although no other claimant came: the message does not speak of one.
#[test]
fn stale_claim_on_a_free_task_says_that_it_has_no_claimant() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["backup", "b.db"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world.run(["restore", "b.db"]).exits(0);
    world.run(["task", "reopen", "T-1", "--reason", "r", "--epoch", "1", "--json"]).refuses(4, "stale_claim");
    insta::assert_snapshot!(world.transcript(&["fairway done T-1 --session s1 --epoch 1"]), @"
    $ fairway done T-1 --session s1 --epoch 1
    error: your claim on T-1 is stale: its epoch is 1, the task is at epoch 2 and has no claimant
    hint: if it is todo, claim it again: fairway claim T-1
    [exit 4]
    ");
}
