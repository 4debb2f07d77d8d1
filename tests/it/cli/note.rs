//! `fairway note`: a checkpoint on the task that the caller has claimed.

use crate::common::{TestProject, fixtures};

#[test]
fn note_goes_to_the_claimed_task() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    for id in ["T-1", "T-2"] {
        world.run(["task", "add", id, "one"]).exits(0);
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway note 'nothing yet'",
        "fairway claim T-1",
        "fairway note 'parser done; the printer is next' --artifact out.log",
        "fairway --session s1 note 'I have none'",
        "fairway --session s1 claim T-2",
        "fairway --session s1 note 'the same for a session'",
        "fairway --session s1 note ''",
        "fairway checkpoint list T-1",
        "fairway checkpoint list T-2",
    ]), @"
    $ fairway note 'nothing yet'
    error: you ([user]) have claimed no task
    hint: claim one: fairway claim
    [exit 4]
    $ fairway claim T-1
    claimed T-1: one
    $ fairway note 'parser done; the printer is next' --artifact out.log
    recorded checkpoint 1 on T-1: active
    $ fairway --session s1 note 'I have none'
    error: you (s1) have claimed no task
    hint: claim one: fairway claim
    [exit 4]
    $ fairway --session s1 claim T-2
    claimed T-2: one
    $ fairway --session s1 note 'the same for a session'
    recorded checkpoint 2 on T-2: active
    $ fairway --session s1 note ''
    error: summary must not be empty
    [exit 2]
    $ fairway checkpoint list T-1
    ID  TASK  STATE   AGE  BY  OWNER  DUE  SUMMARY
    1   T-1   active  5s   -   -      -    parser done; the printer is next
    $ fairway checkpoint list T-2
    ID  TASK  STATE   AGE  BY  OWNER  DUE  SUMMARY
    2   T-2   active  3s   s1  -      -    the same for a session
    ");
    let checkpoint = world.json(["checkpoint", "latest", "T-1"]);
    assert_eq!((&checkpoint["state"], &checkpoint["artifact"]), (&"active".into(), &"out.log".into()));
}

#[test]
fn note_needs_a_task_where_several_are_claimed() {
    let world = TestProject::new();
    for id in ["T-1", "T-2"] {
        world.run(["task", "add", id, "one"]).exits(0);
        world.run(["claim", id]).exits(0);
    }
    let several = world.run(["note", "done", "--json"]).refuses(3, "ambiguous").error();
    assert_eq!(several["details"]["found"], serde_json::json!(["T-1", "T-2"]));
    assert_eq!(several["hint"], "name one: fairway note TEXT --task T-1");
    let text = b"from stdin\n";
    world.run_with_stdin(["note", "-", "--task", "T-2"], text).exits(0);
    assert_eq!(world.json(["checkpoint", "latest", "T-2"])["summary"], "from stdin");
    // A repeat records nothing again, also when the claim is over.
    world.run(["note", "once", "--task", "T-1", "--request-id", "R-1"]).exits(0);
    world.run(["release", "T-1"]).exits(0);
    world.run(["note", "once", "--task", "T-1", "--request-id", "R-1"]).exits(0);
    assert_eq!(world.json(["checkpoint", "list", "T-1"]).as_array().unwrap().len(), 1);
}
