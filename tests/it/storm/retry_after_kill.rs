//! The outcome is unknown: the process died after its commit and before its answer. The same `--request-id` then has one
//! effect and gets the answer that was never read; without it there are two.

use super::strace::{self, Reach};
use crate::common::TestProject;

/// Adds a task and dies with the answer on its lips: at the call that would write it to stdout.
fn add_without_an_answer(world: &TestProject, words: &[&str]) {
    let command = || world.fairway(words);
    let rehearsal = strace::copy(&world.root(), &world.dir().join("rehearsal"));
    let points = strace::points(world, &rehearsal, Reach::Process, &command(), ".fairway.toml");
    let answer = points.iter().rfind(|point| point.call == "write").unwrap();
    let run = strace::killed_at(world, &world.root(), Reach::Process, &command(), answer);
    assert_eq!((run.code, run.stdout.as_str()), (None, ""), "{run:?}");
}

#[test]
fn repeated_request_has_one_effect_and_the_first_answer() {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::new();
    let add = ["task", "add", "once", "--json", "--request-id", "R-1"];
    add_without_an_answer(&world, &add);
    let first = world.run(add).exits(0);
    let again = world.run(add).exits(0);
    assert_eq!(first.json()["id"], "T-1");
    assert_eq!(first.stdout, again.stdout);
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 1);
    world.run(["task", "add", "other words", "--json", "--request-id", "R-1"]).refuses(2, "request_reused");
}

#[test]
fn control_without_a_request_id_has_two_effects() {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::new();
    let add = ["task", "add", "once", "--json"];
    add_without_an_answer(&world, &add);
    assert_eq!(world.run(add).exits(0).json()["id"], "T-2");
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 2);
}
