//! A worker that slept through the end of its lease must not overwrite the work of the one who took over.

use std::process::{Child, Output, Stdio};
use std::time::Duration;

use fairway_core::os::{poll_until, process};
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

const ROUNDS: usize = 30;

/// A worker that claims, is stopped, and writes when it goes on.
fn worker(world: &TestProject, task: &str, write: &str) -> Child {
    let script = format!("\"$0\" claim {task} --lease 1ms --quiet && kill -STOP $$ && exec \"$0\" {write}");
    let mut command = world.command("sh");
    command.args(["-c", &script, FAIRWAY]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let stopped = || process::stat(pid).unwrap().filter(|found| found.state == 'T').map(drop);
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(5), stopped)
        .expect("the worker stops after its claim");
    child
}

/// One round for each task: the worker stops, another claims, the worker goes on.
fn rounds(world: &TestProject, write: impl Fn(&str) -> String) -> Vec<Output> {
    world.real_time();
    (1..=ROUNDS)
        .map(|round| {
            let task = format!("R-{round}");
            world.run(["task", "add", &task, "t"]).exits(0);
            let worker = worker(world, &task, &write(&task));
            // The very same name: nothing but the epoch tells them apart.
            let taken = world.json(["claim", &task]);
            assert_eq!(taken["task"]["claim"]["epoch"], 2);
            nix::sys::signal::kill(Pid::from_raw(i32::try_from(worker.id()).unwrap()), Signal::SIGCONT).unwrap();
            worker.wait_with_output().unwrap()
        })
        .collect()
}

fn statuses(world: &TestProject) -> Vec<String> {
    (1..=ROUNDS)
        .map(|round| world.json(["task", "show", &format!("R-{round}")])["status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn stale_worker_writes_are_refused() {
    let world = TestProject::new();
    let outputs = rounds(&world, |task| format!("task submit {task} --epoch 1 --json"));
    for output in outputs {
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("\"stale_claim\""), "{output:?}");
    }
    assert_eq!(statuses(&world), vec!["in_progress"; ROUNDS]);
}

/// The control: with nothing but the name to go by, every one of the writes goes through.
#[test]
fn control_without_epochs_lets_stale_writes_through() {
    let world = TestProject::new();
    let outputs = rounds(&world, |task| format!("task submit {task}"));
    assert!(outputs.iter().all(|output| output.status.code() == Some(0)), "{outputs:?}");
    assert_eq!(statuses(&world), vec!["review"; ROUNDS]);
}
