//! `fairway start` and `fairway session relaunch`: what they refuse. What they do is in `sessions::start` and
//! `sessions::relaunch`.

use crate::common::TestProject;

#[test]
fn start_and_relaunch_name_the_way_on() {
    let mut world = TestProject::with_git();
    world.set("PATH", "/nowhere");
    world.run(["task", "add", "T-2", "two"]).exits(0);
    world.run(["task", "add", "T-3", "three", "--depends-on", "T-2"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway start",
        "fairway start T-9 -- /bin/true",
        "fairway start T-2 T-3 --attach -- /bin/true",
        "fairway work --once",
        "fairway session relaunch",
        "fairway session relaunch s1",
        "fairway session relaunch --dead",
    ]), @"
    $ fairway start
    error: the following required arguments were not provided: <TASK|TITLE>...
    hint: write it as: fairway start <TASK|TITLE>... [-- <CMD>...]
    [exit 2]
    $ fairway start T-9 -- /bin/true
    error: there is no task 'T-9'
    hint: did you mean T-2, T-3?
    [exit 3]
    $ fairway start T-2 T-3 --attach -- /bin/true
    error: --attach is for one session; several are given
    [exit 2]
    $ fairway work --once
    work   2 places, 1 ready task; Ctrl-C stops starting, agents go on
    00:00  T-2 did not start: git cannot be started: it is not in PATH
    00:00  1 task did not start, and no agent works
    [exit 7]
    $ fairway session relaunch
    error: no session that is over has a claim
    hint: list the sessions: fairway session list --all
    [exit 2]
    $ fairway session relaunch s1
    error: there is no session 's1'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway session relaunch --dead
    no sessions to relaunch
    ");
}

#[test]
fn missing_git_is_named_with_what_installs_it() {
    let mut world = TestProject::with_git();
    world.set("PATH", "/nowhere");
    let run = world.run(["start", "Fix the tax", "--json", "--", "/bin/true"]).refuses(7, "git_failed");
    assert_eq!(run.error()["message"], "git cannot be started: it is not in PATH");
    let hint = run.error()["hint"].as_str().unwrap().to_owned();
    assert!(hint.starts_with("install git"), "{hint}");
    assert!(
        !std::path::Path::new("/usr/bin/apt-get").exists() || hint == "install git: sudo apt-get install git",
        "{hint}"
    );
}

#[test]
fn start_without_a_repository_says_that_a_lane_needs_one() {
    let world = TestProject::new();
    let run = world.run(["start", "Fix the tax", "--json", "--", "/bin/true"]).refuses(5, "no_worktree");
    assert!(run.error()["hint"].as_str().unwrap().contains("git init"), "{run:?}");
    assert_eq!(world.json(["task", "list"]), serde_json::json!([]));
}
