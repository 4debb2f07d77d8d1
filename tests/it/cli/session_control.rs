//! `fairway session attach`, `nudge`, `interrupt` and `meta`.

use crate::common::TestProject;

/// Its backend says yes to everything and does nothing.
#[test]
fn session_operations_print_their_results() {
    let world = TestProject::populated();
    insta::assert_snapshot!(world.transcript(&[
        "fairway session attach s4",
        "fairway session nudge s4 'go on'",
        "fairway session nudge s4 ''",
        "fairway session nudge s4",
        "fairway session interrupt s4",
        "fairway session meta set s4 key value",
        "fairway session meta set s4 '' value",
        "fairway session meta get s4 key --json",
        "fairway session meta get s4 other",
        "fairway session meta rm s4 key",
        "fairway session nudge s1 hi",
        "fairway session nudge s2 hi",
        "fairway session interrupt s2",
        "fairway session attach s2",
        "fairway session meta get s2 key",
        "fairway session attach s9",
    ]), @r#"
    $ fairway session attach s4
    $ fairway session nudge s4 'go on'
    nudged s4 with 5 bytes
    $ fairway session nudge s4 ''
    error: text must not be empty
    [exit 2]
    $ fairway session nudge s4
    error: the following required arguments were not provided: <TEXT>
    hint: write it as: fairway session nudge <ID> <TEXT>
    [exit 2]
    $ fairway session interrupt s4
    interrupted s4
    $ fairway session meta set s4 key value
    set key of s4
    $ fairway session meta set s4 '' value
    error: key must be 1 to 256 bytes without control characters
    [exit 2]
    $ fairway session meta get s4 key --json
    {"session_id":"s4","key":"key","value":"value\n"}
    $ fairway session meta get s4 other
    $ fairway session meta rm s4 key
    removed key of s4
    $ fairway session nudge s1 hi
    error: session s1 runs on host elsewhere, not on this host
    hint: run it there: ssh elsewhere fairway session nudge s1 TEXT
    [exit 4]
    $ fairway session nudge s2 hi
    error: the session s2 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session interrupt s2
    error: the session s2 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session attach s2
    error: the session s2 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session meta get s2 key
    error: the session s2 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session attach s9
    error: there is no session 's9'
    hint: list the sessions: fairway session list --all
    [exit 3]
    "#);
}

/// A script that cannot type or show a screen sends nobody in a circle.
#[test]
fn script_that_cannot_type_or_show_says_what_works() {
    let world = TestProject::populated();
    let script = world.root().join("yes.sh");
    std::fs::write(&script, "#!/bin/sh\ncase $1 in is-running) echo true ;; *) exit 2 ;; esac\n").unwrap();
    world.run(["prompt", "s4", "go on"]).exits(0);
    let typed = world.run(["session", "nudge", "s4", "--queued", "--json"]).refuses(7, "adapter_unsupported").error();
    let hint = "the messages stay queued; the agent reads them itself: fairway inbox --session s4";
    assert_eq!(typed["hint"], hint, "{typed}");
    assert!(world.run(["inbox", "--session", "s4"]).exits(0).stdout.contains("go on"));
    let shown = world.run(["session", "peek", "s4"]).exits(0);
    assert!(
        shown.stdout.is_empty() && shown.stderr.contains("yes.sh does not know peek, and no transcript"),
        "{shown:?}"
    );
    assert!(world.json(["session", "peek", "s4"])["note"].as_str().unwrap().contains("does not know peek"));
}

/// A session of a backend with the least that the protocol asks for.
#[test]
fn unsupported_operation_suggests_a_command() {
    let world = TestProject::populated();
    let script = world.root().join("yes.sh");
    std::fs::write(&script, "#!/bin/sh\ncase $1 in is-running) echo true ;; *) exit 2 ;; esac\n").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway session attach s4",
        "fairway session nudge s4 hi",
        "fairway session interrupt s4",
        "fairway session meta get s4 key",
    ]).replace(&script.display().to_string(), "yes.sh"), @"
    $ fairway session attach s4
    error: no terminal to attach to; to read the session's screen: fairway session peek s4
    [exit 2]
    $ fairway session nudge s4 hi
    unchanged: s4
    nothing was done: [world]/project/yes.sh does not know nudge; to leave it a message: fairway send s4 TEXT
    $ fairway session interrupt s4
    unchanged: s4
    nothing was done: [world]/project/yes.sh does not know interrupt; to end it: fairway session stop s4
    $ fairway session meta get s4 key
    nothing was done: [world]/project/yes.sh does not know get-meta
    ");
    std::fs::write(&script, "#!/bin/sh\ncase $1 in is-running) echo false ;; *) exit 0 ;; esac\n").unwrap();
    insta::assert_snapshot!(world.transcript(&["fairway session nudge s4 hi", "fairway session attach s4"]), @"
    $ fairway session nudge s4 hi
    error: the session s4 is recorded as running, but its backend reports that it is not running
    hint: to settle it: fairway session reconcile
    [exit 4]
    $ fairway session attach s4
    error: the session s4 is recorded as running, but its backend reports that it is not running
    hint: to settle it: fairway session reconcile
    [exit 4]
    ");
}
