//! `fairway events`

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::common::{TestProject, test_project::FAIRWAY};

/// A name that somebody left, killed or in a container of their own, keeps nobody from following.
#[test]
fn follow_replaces_a_stale_socket_of_the_same_pid() {
    let world = TestProject::new();
    world.run(["task", "add", "one"]).exits(0);
    let mut command = world.command("sh");
    command.args([
        "-c",
        "mkdir -p -m 700 .fairway/runtime/wake && : >.fairway/runtime/wake/events-$$ && exec \"$0\" \"$@\"",
    ]);
    command.args([FAIRWAY, "events", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().expect("it ended").unwrap();
    assert!(next().contains("task.added"));
    world.run(["task", "add", "two"]).exits(0);
    assert!(next().contains("T-2"));
    child.kill().unwrap();
    child.wait().unwrap();
}
