//! What `fairway land` tells, and whom: once, and a way that works.

use std::fs;

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, lane_dir, project, status, submitted};
use crate::common::{TestProject, fixtures};

fn configured(text: &str) -> TestProject {
    let world = project(&format!("{NO_GATES}{text}\n"));
    world.run(["trust"]).exits(0);
    world
}

fn messages(world: &TestProject, lane: &str) -> Vec<String> {
    let query = format!(
        "SELECT coalesce(json_group_array(content), '[]') FROM messages WHERE to_lane = '{lane}' OR \
         to_session = 's-{lane}'"
    );
    serde_json::from_str(&world.value(&query)).unwrap()
}

#[test]
fn base_that_is_behind_is_found_and_said_once() {
    let world = configured("");
    let (root, remote) = (world.root(), world.dir().join("remote.git"));
    let tasks = ["a", "b", "c", "d"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &remote.display().to_string()]);
    world.git(&root, &["remote", "add", "origin", &remote.display().to_string()]);
    world.git(&root, &["commit", "--quiet", "--allow-empty", "--message=theirs"]);
    world.git(&root, &["push", "--quiet", "--set-upstream", "origin", "main"]);
    world.git(&root, &["reset", "--quiet", "--hard", "HEAD~"]);
    let run = world.run(["land", "--queue"]).exits(5);
    assert_eq!(run.stdout.matches("origin/main").count(), 1, "{run:?}");
    let rest: Vec<&str> = tasks.iter().skip(1).map(String::as_str).collect();
    assert!(run.stderr.contains(&format!("not tried: {}", rest.join(", "))), "{run:?}");
}

#[test]
fn uncommitted_work_of_an_agent_is_not_ready_and_nobody_is_told_to_stash_it() {
    let world = configured("");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let good = submitted(&world, "good", &[("good.txt", "x\n")]);
    fs::write(lane_dir(&world, "ui").join("draft.txt"), "draft\n").unwrap();
    let run = world.run(["land", "--queue"]).exits(0);
    assert_eq!([&task, &good].map(|task| status(&world, task)), ["review", "done"]);
    let line = format!("not ready: {task} (lane ui): cannot land the lane ui: its worktree holds changes");
    assert!(run.stdout.contains(&line) && !run.stdout.contains("stash"), "{run:?}");
    assert!(run.stdout.contains("\n  ask its agent to commit: fairway send lane:ui \"Commit your work.\""), "{run:?}");
    // Nothing is ready: a script sees it.
    let run = world.run(["land", "--all", "--json"]).exits(5);
    assert_eq!(run.json()["landings"][0]["state"], "not_ready", "{run:?}");
}

#[test]
fn reason_why_nothing_is_ready_names_the_task_once() {
    let world = configured("");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["task", "edit", &task, "--check", "own=true"]).exits(0);
    let file = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap().replacen("require = []", "require = [\"checks\"]", 1);
    fs::write(&file, text).unwrap();
    world.run(["trust"]).exits(0);
    let run = world.run(["land", "--all"]).exits(5);
    assert!(run.stdout.starts_with(&format!("not ready: {task} (lane ui): ")), "{run:?}");
    assert_eq!(run.stdout.lines().next().unwrap().matches(&task).count(), 1, "{run:?}");
}

#[test]
fn work_that_has_landed_whole_by_a_squash_is_told_nothing() {
    let world = configured("[land]\nstyle = \"squash\"");
    let first = submitted(&world, "first", &[("shared.txt", "1\nONE\n3\n4\n5\n")]);
    fixtures::add_session(&world, "s-first", "worker", Some("first"));
    world.run(["land", &first]).exits(0);
    let second = submitted(&world, "second", &[("shared.txt", "1\nONE, TWO\n3\n4\n5\n")]);
    let run = world.run(["land", &second]).exits(0);
    assert!(!run.stdout.contains("told lane"), "{run:?}");
    assert_eq!(messages(&world, "first"), Vec::<String>::new());
    world.run(["overlap"]).exits(0);
    let board = world.json(["status"]);
    let is_overlap = |one: &&Value| one["kind"] == "overlap";
    assert_eq!(board["needs_you"].as_array().unwrap().iter().filter(is_overlap).count(), 0, "{board:#}");
}

#[test]
fn known_conflict_is_told_once_with_the_command_that_mends_it() {
    for (style, verb) in [("merge", "merge"), ("rebase", "rebase")] {
        let world = configured(&format!("[land]\nstyle = \"{style}\""));
        let [one, two] =
            [("one", "ONE"), ("two", "TWO")].map(|(name, line)| submitted(&world, name, &[("shared.txt", line)]));
        fixtures::add_session(&world, "s-two", "worker", Some("two"));
        let run = world.run(["land", "--queue"]).exits(5);
        assert_eq!([&one, &two].map(|task| status(&world, task)), ["done", "in_progress"]);
        // The person is not told to work in a lane in which a session works.
        assert!(run.stdout.contains("its session is told; see the work: fairway lane diff two"), "{run:?}");
        world.run(["overlap"]).exits(0);
        let told = messages(&world, "two");
        let by_hand = format!("git -C {} {verb} main", lane_dir(&world, "two").display());
        assert!(told.len() == 1 && told[0].ends_with(&by_hand), "{told:?}");
        // One item, and not one for the conflict too.
        let board = world.json(["status"]);
        let of_lane = |one: &&Value| one["lane"] == "two" && one["kind"] == "overlap";
        assert_eq!(board["needs_you"].as_array().unwrap().iter().filter(of_lane).count(), 0, "{board:#}");
    }
}

#[test]
fn check_that_several_tasks_have_runs_once_and_has_the_own_name_of_each() {
    let world = configured("[land]\nretries = 0");
    let log = world.dir().join("log");
    let check = format!("tests=echo run >>'{}'; test ! -f a.txt -o ! -f b.txt", log.display());
    let [z, a, b] = ["z", "a", "b"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
    for task in [&z, &a, &b] {
        world.run(["task", "edit", task, "--check", &check]).exits(0);
    }
    fixtures::add_session(&world, "s-z", "worker", Some("z"));
    let error = world.run(["land", "--all", "--json"]).exits(5).json()["landings"][2]["error"].clone();
    assert_eq!((&error["details"]["check"], &error["details"]["fails_with"]["of"]), (&json!("tests"), &json!(a)));
    assert_eq!(messages(&world, "z"), Vec::<String>::new());
    // The stack, two, then: alone, with the first two, with the first, with the second, and the second without it.
    assert!(fs::read_to_string(&log).unwrap().lines().count() <= 7);
    // Each has its evidence under its own name.
    for task in [&z, &a, &b] {
        let number = world.json(["evidence", "list", task])[0]["id"].to_string();
        assert_eq!(world.json(["evidence", "show", &number])["check"], "tests");
    }
}

#[test]
fn three_that_break_only_together_are_told_as_a_set() {
    let world = configured("[land]\nretries = 0\nchecks = [\"test ! -f a.txt -o ! -f b.txt -o ! -f c.txt\"]");
    let [a, z, b, c] = ["a", "z", "b", "c"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
    for lane in ["a", "z", "b"] {
        fixtures::add_session(&world, &format!("s-{lane}"), "worker", Some(lane));
    }
    let error = world.run(["land", "--all", "--json"]).exits(5).json()["landings"][3]["error"].clone();
    let message = error["message"].as_str().unwrap();
    let (with, runs) = (format!("{a}, {b}"), format!("alone: passes; with {a}: passes; with {b}: passes"));
    let runs = format!("{runs}; with {with}: fails; {with} without it: passes");
    assert!(message.ends_with(&runs), "{message}");
    let of = |place: usize| &error["details"]["fails_with_all"][place]["of"];
    assert_eq!((&error["details"]["fails_with"], of(0), of(1)), (&Value::Null, &json!(a), &json!(b)));
    assert_eq!(messages(&world, "z").len() + messages(&world, "c").len(), 1);
    assert_eq!([messages(&world, "a").len(), messages(&world, "b").len()], [1, 1]);
    assert_eq!(status(&world, &z), "done");
    assert!(status(&world, &c) == "in_progress");
}

#[test]
fn work_that_was_submitted_anew_during_the_pass_stays_in_review() {
    let world = configured("");
    let task = submitted(&world, "ui", &[("bad.txt", "x\n")]);
    let later = commit(&world, "ui", &[("good.txt", "x\n")]);
    // The check submits the next commit, as its author may at any time.
    let program = env!("CARGO_BIN_EXE_fairway");
    let anew = format!("{program} task resume {task} && {program} task submit {task} --commit {later}");
    let check = format!("own=(cd '{}' && {anew}) >/dev/null; test ! -f bad.txt", world.root().display());
    world.run(["task", "edit", &task, "--check", &check]).exits(0);
    world.run(["land", &task, "--json"]).refuses(5, "land_check_failed");
    assert_eq!(world.json(["task", "show", &task])["commit"], json!(later));
    assert_eq!(status(&world, &task), "review");
}
