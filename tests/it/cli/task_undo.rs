//! Taking back one's own newest change of a task.

use crate::common::TestProject;

#[test]
fn newest_change_is_taken_back_within_a_minute_by_who_made_it() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world.run(["task", "block", "T-1", "--session", "s1", "--reason", "rain"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task undo T-1",
        "fairway release T-1 --force --reason gone",
        "fairway task undo T-1",
        "fairway task unblock T-1 --force --reason dry",
        "fairway task undo T-1",
        "fairway task submit T-1 --session s1 --commit 0123456789abcdef",
        "fairway review record T-1 --verdict changes --notes 'add a test'",
        "fairway outbox list --to-session s1",
        "fairway task undo T-1",
        "fairway outbox list --to-session s1",
        "fairway review record T-1 --verdict approve",
        "fairway task undo T-1",
        "fairway task cancel T-1 --force --reason 'not needed'",
        "fairway task undo T-1",
        "fairway task edit T-1 --priority 0",
        "fairway task undo T-1 --event 1",
        "fairway task undo T-1",
    ]), @"
    $ fairway task undo T-1
    error: nothing of T-1 was taken back: s1 did it, not you ([user])
    hint: see what was done: fairway task show T-1
    [exit 4]
    $ fairway release T-1 --force --reason gone
    released T-1: blocked → todo
    $ fairway task undo T-1
    took back the release of T-1: todo → blocked
    $ fairway task unblock T-1 --force --reason dry
    unblocked T-1: blocked → in_progress
    $ fairway task undo T-1
    error: nothing of T-1 was taken back: the newest change of it, task.unblocked, has no undo
    hint: see what was done: fairway task show T-1
    [exit 4]
    $ fairway task submit T-1 --session s1 --commit 0123456789abcdef
    submitted T-1: in_progress → review
    $ fairway review record T-1 --verdict changes --notes 'add a test'
    recorded review 1 of T-1: changes in the domain 'general'
    $ fairway outbox list --to-session s1
    ID  TO          PRIORITY  STATUS  WAY  COUNT  AGE  REASON
    1   session s1  normal    queued  -    1      1s   state_unknown
    $ fairway task undo T-1
    took back the verdict 'changes' of T-1: in_progress → review
    $ fairway outbox list --to-session s1
    no messages
    $ fairway review record T-1 --verdict approve
    recorded review 2 of T-1: approve in the domain 'general'
    $ fairway task undo T-1
    took back the verdict 'approve' of T-1
    $ fairway task cancel T-1 --force --reason 'not needed'
    cancelled T-1: review → cancelled
    $ fairway task undo T-1
    took back the cancellation of T-1: cancelled → review
    $ fairway task edit T-1 --priority 0
    edited T-1: priority
    $ fairway task undo T-1 --event 1
    error: nothing of T-1 was taken back: it has changed since: task.edited by [user]
    hint: see what was done: fairway task show T-1
    [exit 4]
    $ fairway task undo T-1
    took back priority 0 of T-1: priority 2
    ");
    let shown = world.run(["task", "show", "T-1"]).exits(0).stdout;
    for line in
        ["claimed, epoch 1 (taken back)\n", "reopened: cancelled → review (taken back)\n", "held by     s1 since"]
    {
        assert!(shown.contains(line), "{line:?} in {shown}");
    }
    let refused = |why: &str| {
        let run = world.run(["task", "undo", "T-1", "--json"]).refuses(4, "not_undoable");
        assert!(run.stderr.contains(why), "{run:?}");
    };
    world.run(["task", "edit", "T-1", "--priority", "0", "--title", "two"]).exits(0);
    refused("the newest change of it, task.edited, has no undo");
    world.run(["task", "cancel", "T-1", "--force", "--reason", "old"]).exits(0);
    world.advance_clock(121);
    refused("task.cancelled was 2 minutes ago, and one minute is allowed");
    // The claim of a session that is over does not go on.
    world.run(["task", "reopen", "T-1", "--reason", "r"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world.run(["release", "T-1", "--force", "--reason", "r"]).exits(0);
    world.run(["session", "end", "s1"]).exits(0);
    refused("its session s1 has ended");
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "todo");
}
