//! `fairway task edit` and `fairway task dep`.

use crate::common::TestProject;

#[test]
fn lists_replace_and_an_empty_text_clears() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 first --role backend --label a --label b --path 'src/**' --check 'unit=cargo test'",
        "fairway task add T-2 second",
        "fairway task edit T-1 --title 'the first' --priority 0 --label c --parent T-2 --depends-on T-2",
        "fairway task edit T-1 --title 'the first'",
        "fairway task edit T-1 --role '' --label '' --path '' --check '' --parent ''",
        "fairway task show T-1",
        "fairway task edit T-1",
        "fairway task edit T-1 --lane nowhere",
        "fairway task edit T-1 --depends-on T-1",
        "fairway task edit T-2 --parent T-2",
        "fairway task edit T-1 --priority 5",
        "fairway task edit T-9 --title x",
        "fairway events --quiet",
    ]), @"
    $ fairway task add T-1 first --role backend --label a --label b --path 'src/**' --check 'unit=cargo test'
    added T-1
    $ fairway task add T-2 second
    added T-2
    $ fairway task edit T-1 --title 'the first' --priority 0 --label c --parent T-2 --depends-on T-2
    edited T-1: title, parent, priority, labels, depends_on
    $ fairway task edit T-1 --title 'the first'
    unchanged: T-1 has these values already
    $ fairway task edit T-1 --role '' --label '' --path '' --check '' --parent ''
    edited T-1: role, parent, labels, paths, checks
    $ fairway task show T-1
    T-1  the first
    status      todo
    ready       no
    waits for   T-2 is todo
    priority    0
    depends on  T-2
    created     2026-01-01 00:00:02
    updated     2026-01-01 00:00:06

    AGO  BY  EVENT
    5s  [user]  added
    3s  [user]  edited: title, parent, priority, labels, depends_on
    1s  [user]  edited: role, parent, labels, paths, checks
    $ fairway task edit T-1
    error: say what to change, such as --title TEXT
    [exit 2]
    $ fairway task edit T-1 --lane nowhere
    error: there is no lane 'nowhere'
    hint: list the lanes: fairway lane list
    [exit 3]
    $ fairway task edit T-1 --depends-on T-1
    error: that would close a cycle: T-1 → T-1
    [exit 5]
    $ fairway task edit T-2 --parent T-2
    error: that would close a cycle: T-2 → T-2
    [exit 5]
    $ fairway task edit T-1 --priority 5
    error: priority 5 is not from 0 to 4
    [exit 2]
    $ fairway task edit T-9 --title x
    error: there is no task 'T-9'
    hint: did you mean T-1, T-2?
    [exit 3]
    $ fairway events --quiet
    1
    2
    3
    4
    ");
}

#[test]
fn dependencies_come_and_go_and_circles_are_named() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add --id a one",
        "fairway task add --id b two",
        "fairway task add --id c three",
        "fairway task add --id d four",
        "fairway task dep add a b",
        "fairway task dep add a b",
        "fairway task dep add b c",
        "fairway task dep add b d",
        "fairway task dep add a d",
        "fairway task dep add c d",
        "fairway task dep add a c",
        "fairway task dep add d a",
        "fairway task dep add a a",
        "fairway task dep add a nowhere",
        "fairway task dep tree a",
        "fairway task dep tree a --json",
        "fairway ready --quiet",
        "fairway task dep rm c d",
        "fairway task dep rm c d",
        "fairway ready --quiet",
        "fairway task dep tree nowhere",
    ]), @r#"
    $ fairway task add --id a one
    added a
    $ fairway task add --id b two
    added b
    $ fairway task add --id c three
    added c
    $ fairway task add --id d four
    added d
    $ fairway task dep add a b
    a waits for b now
    $ fairway task dep add a b
    unchanged: a waits for b already
    $ fairway task dep add b c
    b waits for c now
    $ fairway task dep add b d
    b waits for d now
    $ fairway task dep add a d
    a waits for d now
    $ fairway task dep add c d
    c waits for d now
    $ fairway task dep add a c
    a waits for c now
    $ fairway task dep add d a
    error: that would close a cycle: d → a → d
    [exit 5]
    $ fairway task dep add a a
    error: that would close a cycle: a → a
    [exit 5]
    $ fairway task dep add a nowhere
    error: there is no task 'nowhere'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway task dep tree a
    a  todo  one
      b  todo  two
        c  todo  three
          d  todo  four
        d  todo  four
      c  todo  three  (see above)
      d  todo  four
    $ fairway task dep tree a --json
    {"task_id":"a","nodes":[{"task_id":"a","depth":0,"status":"todo","title":"one","repeated":false},{"task_id":"b","depth":1,"status":"todo","title":"two","repeated":false},{"task_id":"c","depth":2,"status":"todo","title":"three","repeated":false},{"task_id":"d","depth":3,"status":"todo","title":"four","repeated":false},{"task_id":"d","depth":2,"status":"todo","title":"four","repeated":false},{"task_id":"c","depth":1,"status":"todo","title":"three","repeated":true},{"task_id":"d","depth":1,"status":"todo","title":"four","repeated":false}]}
    $ fairway ready --quiet
    d
    $ fairway task dep rm c d
    c waits for d no longer
    $ fairway task dep rm c d
    unchanged: c does not wait for d
    $ fairway ready --quiet
    c
    d
    $ fairway task dep tree nowhere
    error: there is no task 'nowhere'
    hint: list the tasks: fairway task list
    [exit 3]
    "#);
}

#[test]
fn edit_obeys_the_claim_rules() {
    let world = TestProject::new();
    for (id, path) in [("T-1", "src/a/**"), ("T-2", "docs/**")] {
        world.run(["task", "add", id, "t", "--path", path]).exits(0);
    }
    for session in ["s1", "s2"] {
        world.add_session(session);
    }
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world.run(["claim", "T-2", "--session", "s2"]).exits(0);
    world.run(["task", "edit", "T-2", "--path", "src/**", "--json"]).refuses(5, "path_conflict");
    world.run(["task", "edit", "T-2", "--path", "docs/x", "--session", "s2"]).exits(0);

    // A worker that lost its claim does not write over the one who took over.
    world.run(["claim", "T-1", "--session", "s2", "--steal", "--reason", "asleep"]).exits(0);
    for words in [vec!["task", "edit", "T-1", "--title", "old words"], vec!["task", "dep", "add", "T-1", "T-2"]] {
        let stale = words.iter().copied().chain(["--session", "s1", "--json"]);
        world.run(stale).refuses(4, "stale_claim");
    }
    world.run(["task", "edit", "T-1", "--title", "new words", "--session", "s2"]).exits(0);
}

#[test]
fn task_with_an_absent_blocker_can_be_edited() {
    let world = TestProject::new();
    world.run_with_stdin(["task", "import", "-"], br#"{"id":"T-1","title":"t","depends_on":["gone"]}"#).exits(0);
    world.run(["task", "edit", "T-1", "--title", "other words"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["waiting_on"][0]["code"], "dep_absent");
    world.run(["task", "dep", "rm", "T-1", "gone"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["ready"], true);
}

#[test]
fn file_called_dash_is_stdin() {
    let world = TestProject::new();
    world.run_with_stdin(["task", "add", "T-1", "t", "--body-file", "-"], b"at length").exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["body"], "at length");
}

#[test]
fn id_in_another_case_or_without_its_hyphen_is_suggested() {
    let world = TestProject::new();
    for id in ["T-1", "T-10", "T-2", "SHOP-a"] {
        world.run(["task", "add", "--id", id, "t"]).exits(0);
    }
    for (typed, near) in [("t-1", "T-1"), ("T1", "T-1"), ("t10", "T-10"), ("shop-A", "SHOP-a"), ("shopA", "SHOP-a")] {
        let error = world.run(["task", "show", typed, "--json"]).refuses(3, "not_found").error();
        assert_eq!(error["hint"], format!("did you mean {near}: fairway task show {near}"), "{error}");
    }
}
