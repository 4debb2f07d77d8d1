//! Several ids in one command: each is a change of its own.

use crate::common::{TestProject, fixtures};

#[test]
fn tasks_are_edited_and_cancelled_each_by_itself() {
    let world = TestProject::new();
    for task in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", task, "t"]).exits(0);
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway task edit T-1 T-2 --priority 0",
        "fairway task edit T-1 T-9 T-3 --priority 1",
        "fairway task edit T-1 T-2 --title same",
        "fairway task cancel T-1 T-1 T-9 --reason rain",
        "fairway task cancel",
    ]), @"
    $ fairway task edit T-1 T-2 --priority 0
    edited T-1: priority
    edited T-2: priority
    $ fairway task edit T-1 T-9 T-3 --priority 1
    edited T-1: priority
    edited T-3: priority
    error: there is no task 'T-9'
    hint: did you mean T-1, T-2, T-3?
    [exit 3]
    $ fairway task edit T-1 T-2 --title same
    error: --title is for one task; several ids are given
    [exit 2]
    $ fairway task cancel T-1 T-1 T-9 --reason rain
    cancelled T-1: todo → cancelled
    unchanged: T-1 is cancelled already
    error: there is no task 'T-9'
    hint: did you mean T-1, T-2, T-3?
    [exit 3]
    $ fairway task cancel
    error: the following required arguments were not provided: <ID>...
    hint: write it as: fairway task cancel <ID>...
    [exit 2]
    ");
    let one = world.json(["task", "cancel", "T-2", "--reason", "rain"]);
    assert_eq!(one["id"], "T-2", "one id has its own document");
    let several = world.run(["task", "cancel", "T-9", "T-3", "--reason", "rain", "--json"]).exits(3).json();
    assert_eq!((&several[0]["id"], &several[0]["error"]["code"]), (&"T-9".into(), &"not_found".into()));
    assert_eq!((&several[1]["id"], &several[1]["status"]), (&"T-3".into(), &"cancelled".into()));
}

#[test]
fn request_id_of_several_ids_has_one_effect_on_each() {
    let world = TestProject::new();
    for task in ["T-1", "T-2"] {
        world.run(["task", "add", task, "t"]).exits(0);
    }
    let edit =
        || world.run(["task", "edit", "T-1", "T-2", "--priority", "0", "--request-id", "r", "--json"]).exits(0).json();
    let first = edit();
    assert_eq!((&first[0]["id"], &first[1]["id"]), (&"T-1".into(), &"T-2".into()));
    let events = || world.run(["events", "--json"]).exits(0).stdout;
    let before = events();
    assert_eq!(edit(), first);
    assert_eq!(events(), before);
}

#[test]
fn approvals_are_answered_each_by_itself() {
    let world = TestProject::new();
    world.add_session("s1");
    world.add_session("s2");
    fixtures::add_approval(&world, "s1", "Bash", true);
    fixtures::add_approval(&world, "s2", "Edit", false);
    fixtures::add_approval(&world, "s2", "Bash", true);
    insta::assert_snapshot!(world.transcript(&["fairway approvals answer 1 2 3 allow", "fairway approvals answer 1"]), @"
    $ fairway approvals answer 1 2 3 allow
    allowed Bash of s1
    allowed Bash of s2
    error: approval 2 cannot be answered from here: acme asks in its own window
    hint: answer in its terminal: fairway session attach s2
    [exit 5]
    $ fairway approvals answer 1
    error: invalid value '1' for '<ANSWER>': '1' is none of allow, deny
    hint: read the help: fairway approvals answer --help
    [exit 2]
    ");
}
