//! A session dies half-way through a task: what its successor is told.

use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;

use super::{Sessions, eventually, marked, text};

const KNOWN: &str = "parser done; the printer in src/print.rs is half rewritten, do not touch lex.rs";

fn launch(world: &Sessions, name: &str, more: &[&str]) {
    let start = ["--role", "dev", "--name", name, "--task-id", "T-4"];
    world.launch(&[&start[..], more, &["--", "sleep", "300"]].concat());
}

/// A session claims T-4 and writes down what it knows.
fn work(world: &Sessions, name: &str, more: &[&str]) {
    world.run(["task", "add", "T-4", "Masked"]).exits(0);
    launch(world, name, more);
    world.run(["claim", "T-4", "--session", name, "--as", "dev"]).exits(0);
    let record = ["checkpoint", "record", "T-4", "--state", "active", "--summary", KNOWN, "--session", name];
    world.run(record).exits(0);
}

#[test]
fn successor_is_told_the_last_written_checkpoint_and_the_takeover() {
    let world = Sessions::new();
    work(&world, "m1", &[]);
    world.run(["session", "stop", "m1"]).exits(0);
    launch(&world, "m2", &[]);

    let told = world.run(["prime", "--session", "m2"]).exits(0).stdout;
    assert!(told.contains("Task T-4, in_progress, claimed by m1, which ended "), "{told}");
    assert!(told.contains("T-4: active by m1, ") && told.contains(KNOWN), "{told}");
    assert!(told.contains("\nfairway claim T-4 --steal --reason \"...\"  takes it over from m1; then:\n"), "{told}");
    assert!(!told.contains("was launched") && !told.contains("the next one that fits"), "{told}");
    // Every other view of the task's state, too.
    for view in [vec!["explain", "task", "T-4"], vec!["task", "show", "T-4"]] {
        let shown = world.run(&view).exits(0).stdout;
        assert!(shown.contains(KNOWN), "{view:?}: {shown}");
        assert!(!shown.lines().any(|line| line.contains("was launched") && !line.contains("(launch)")), "{shown}");
    }
    let explained = world.run(["explain", "task", "T-4"]).exits(0).stdout;
    assert!(explained.contains(&format!("active: {KNOWN} (by m1)")), "{explained}");
    // The launches' own are kept, and say what they are.
    let list = world.json(["checkpoint", "list", "T-4"]);
    let origins: Vec<_> = list.as_array().unwrap().iter().map(|one| text(&one["origin"])).collect();
    assert_eq!(origins, ["launch", "", "launch"]);
    assert_eq!(world.json(["checkpoint", "latest", "T-4"])["origin"], "launch");
    assert_eq!(world.json(["checkpoint", "latest", "T-4", "--written"])["summary"], KNOWN);
    assert_eq!(world.json(["checkpoint", "list", "T-4", "--written"]).as_array().unwrap().len(), 1);
    // The command that the text names works.
    world.run(["claim", "T-4", "--steal", "--reason", "m1 has ended", "--session", "m2", "--as", "dev"]).exits(0);
    let told = world.run(["prime", "--session", "m2"]).exits(0).stdout;
    assert!(told.contains("claimed by you") && told.contains("T-4: active by m1, "), "{told}");
}

#[test]
fn successor_in_the_lane_is_told_to_continue() {
    let world = Sessions::new();
    world.run(["lane", "add", "a", "--role", "dev"]).exits(0);
    work(&world, "m1", &["--lane", "a"]);
    world.run(["session", "stop", "m1"]).exits(0);
    // Launched for the lane and no task: the work that the lane's last session left comes first.
    world.launch(&["--role", "dev", "--name", "m2", "--lane", "a", "--", "sleep", "300"]);
    let told = world.run(["prime", "--session", "m2"]).exits(0).stdout;
    assert!(told.contains("claimed by m1, which ended ") && told.contains(KNOWN), "{told}");
    assert!(told.contains("\nfairway claim T-4  continues the work of m1; then:\n"), "{told}");
    assert!(!told.contains("--steal"), "{told}");
    // A session of another lane gets the other command, and none without the task.
    world.launch(&["--role", "dev", "--name", "x1", "--", "sleep", "300"]);
    let told = world.run(["prime", "--session", "x1"]).exits(0).stdout;
    assert!(told.contains("You have no claimed task.") && !told.contains("T-4"), "{told}");
    let told = world.run(["prime", "--session", "x1", "--task-id", "T-4"]).exits(0).stdout;
    assert!(told.contains("fairway claim T-4 --steal --reason "), "{told}");
}

#[test]
fn killed_claimant_is_over_before_reconcile() {
    let world = Sessions::new();
    work(&world, "m1", &[]);
    let shown = |session: &str| world.run(["prime", "--session", session, "--task-id", "T-4"]).exits(0).stdout;
    launch(&world, "m2", &[]);
    let told = shown("m2");
    assert!(told.contains("claimed by m1, not by you") && !told.contains("--steal"), "{told}");
    let pid: i32 = world.session("m1")["pid"].parse().unwrap();
    // Its supervisor first, which would record the end.
    ProcessKey::of(pid).unwrap().signal(Signal::SIGKILL).unwrap();
    for left in marked(&world.session("m1")["run_id"]).unwrap() {
        let _ = left.signal(Signal::SIGKILL);
    }
    let told = eventually("its process is gone", || Some(shown("m2")).filter(|told| told.contains("--steal")));
    assert!(told.contains("claimed by m1, wh") && told.contains(KNOWN), "{told}");
    // The judgement leaves a checkpoint, which masks nothing either.
    world.run(["session", "reconcile"]).exits(0);
    assert!(shown("m2").contains(KNOWN));
    assert_eq!(world.json(["checkpoint", "latest", "T-4", "--written"])["summary"], KNOWN);
}
