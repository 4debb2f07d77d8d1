//! Generated files are written anew in the candidate, and scripts of the checks are those of the base.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, lane_dir, project, status, submitted};
use crate::common::TestProject;

const WRITE: &str = "cat deps/*.txt >x.lock";

/// A project with a lock file, of which a check finds out whether it is right.
fn locked(land: &str) -> TestProject {
    let world =
        project(&format!("{NO_GATES}[land]\nretries = 0\nchecks = [\"cat deps/*.txt | cmp - x.lock\"]\n{land}\n"));
    world.run(["trust"]).exits(0);
    fs::create_dir(world.root().join("deps")).unwrap();
    fs::write(world.root().join("deps/a.txt"), "a 1\n").unwrap();
    fs::write(world.root().join("x.lock"), "a 1\n").unwrap();
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=lock"]);
    world
}

/// A lane whose work adds a dependency.
fn adds(world: &TestProject, lane: &str) -> String {
    let task = submitted_dir(world, lane);
    let (path, dep, lock) = (format!("deps/{lane}.txt"), format!("{lane} 1\n"), format!("a 1\n{lane} 1\n"));
    let tip = commit(world, lane, &[(&path, &dep), ("x.lock", &lock)]);
    world.run(["task", "submit", &task, "--commit", &tip]).exits(0);
    task
}

fn submitted_dir(world: &TestProject, lane: &str) -> String {
    world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    let task = world.json(["task", "add", "Work", "--lane", lane])["id"].as_str().unwrap().to_owned();
    world.run(["claim", &task]).exits(0);
    task
}

#[test]
fn lanes_that_each_add_a_dependency_land_in_every_style_and_none_is_sent_back() {
    let names = ["b", "c", "d", "e", "f"];
    for style in ["merge", "squash", "rebase"] {
        let world = locked(&format!("style = \"{style}\"\nregenerate = {{ \"x.lock\" = \"{WRITE}\" }}"));
        let tasks = names.map(|name| adds(&world, name));
        let plan = world.run(["land", "--all", "--dry-run"]).exits(0);
        assert!(plan.stderr.contains("x.lock would be written anew"), "{plan:?}");
        let run = world.run(["land", "--all"]).exits(0);
        assert_eq!(tasks.each_ref().map(|task| status(&world, task)), ["done"; 5].map(str::to_owned), "{run:?}");
        let lock = world.git(&world.root(), &["show", "main:x.lock"]);
        assert_eq!(lock, "a 1\nb 1\nc 1\nd 1\ne 1\nf 1\n", "{style}");
        assert_eq!(world.value("SELECT count(*) FROM messages"), "0", "{style}");
        assert_eq!(world.git(&world.root(), &["status", "--porcelain"]), "");
    }
    // Without the command all but one are, and a person is told of another way.
    let world = locked("");
    let tasks = names.map(|name| adds(&world, name));
    let run = world.run(["land", "--all"]).exits(5);
    assert!(run.stderr.contains("'x.lock merge=union' in .gitattributes keeps both"), "{run:?}");
    assert_eq!(tasks.iter().filter(|task| status(&world, task) == "in_progress").count(), 4);
}

#[test]
fn command_that_does_not_write_its_file_alone_stops_its_work_and_nobody_is_sent_back() {
    for (command, why) in [
        ("echo WHY; exit 3", "exit 3"),
        ("echo x >>shared.txt; echo y >x.lock", "it changes shared.txt, too"),
        ("echo x >new.txt", "it changes new.txt, too"),
        ("rm x.lock", "it leaves no file x.lock"),
        ("ln -sf shared.txt x.lock", "it leaves no file x.lock"),
        ("sleep 600", "timed out after 1s"),
    ] {
        let world = locked(&format!("timeout = \"1s\"\nregenerate = {{ \"x.lock\" = \"{command}\" }}"));
        let tasks = ["b", "c"].map(|name| adds(&world, name));
        let run = world.run(["land", "--all", "--json"]).exits(5);
        assert_eq!(tasks.each_ref().map(|task| status(&world, task)), ["done", "review"], "{command}: {run:?}");
        let error = run.json()["landings"][1]["error"].clone();
        assert_eq!(error["code"], "land_regenerate_failed", "{error}");
        assert!(error["message"].as_str().unwrap().contains(&format!(": {why}; ")), "{error}");
        if why == "exit 3" {
            let file = error["details"]["output"].as_str().unwrap();
            assert_eq!(fs::read_to_string(file).unwrap(), "WHY\n");
        }
        assert_eq!(world.value("SELECT count(*) FROM messages"), "0");
        assert_eq!(world.git(&world.root(), &["show", "main:shared.txt"]), "1\n2\n3\n4\n5\n");
    }
}

#[test]
fn lock_file_that_is_a_link_is_not_written_through_and_other_conflicts_stay_conflicts() {
    let world = locked("regenerate = { 'x.lock' = 'echo written >x.lock' }");
    let victim = world.dir().join("victim");
    fs::write(&victim, "kept\n").unwrap();
    let tasks = ["b", "c"].map(|name| submitted_dir(&world, name));
    for (name, task) in ["b", "c"].iter().zip(&tasks) {
        let dir = lane_dir(&world, name);
        fs::remove_file(dir.join("x.lock")).unwrap();
        // Each leads to the same file in another way.
        let way = if *name == "b" { victim.clone() } else { victim.parent().unwrap().join("./victim") };
        symlink(way, dir.join("x.lock")).unwrap();
        let tip = commit(&world, name, &[]);
        world.run(["task", "submit", task, "--commit", &tip]).exits(0);
    }
    fs::write(world.root().join(".fairway/local.toml"), "[land]\nchecks = []\n").unwrap();
    world.run(["trust"]).exits(0);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    assert_eq!(run.json()["landings"][1]["error"]["code"], "land_regenerate_failed", "{run:?}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "kept\n");

    // Other files conflict too.
    let world = locked(&format!("regenerate = {{ \"x.lock\" = \"{WRITE}\" }}"));
    for (name, line) in [("b", "ONE"), ("c", "TWO")] {
        let task = submitted_dir(&world, name);
        let (dep, lock) = (format!("{name} 1\n"), format!("a 1\n{name} 1\n"));
        let (path, shared) = (format!("deps/{name}.txt"), format!("{line}\n2\n3\n4\n5\n"));
        let tip = commit(&world, name, &[("x.lock", &lock), ("shared.txt", &shared), (&path, &dep)]);
        world.run(["task", "submit", &task, "--commit", &tip]).exits(0);
    }
    let run = world.run(["land", "--all", "--json"]).exits(5);
    let error = &run.json()["landings"][1]["error"];
    assert_eq!(error["code"], "land_conflict", "{run:?}");
}

#[test]
fn command_that_writes_files_needs_trust() {
    let world = project(&format!("{NO_GATES}[land]\nregenerate = {{ \"x.lock\" = \"true\" }}\n"));
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["land", &task, "--json"]).refuses(9, "untrusted");
}

/// A project whose check is a script of the repository that refuses `bad.txt`.
fn scripted() -> TestProject {
    let world = project(&format!("{NO_GATES}[land]\nretries = 0\nchecks = [\"sh check.sh\"]\n"));
    world.run(["trust"]).exits(0);
    fs::write(world.root().join("check.sh"), "test ! -f bad.txt\n").unwrap();
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=check"]);
    world
}

#[test]
fn lane_that_rewrites_the_script_of_a_check_is_judged_by_the_one_of_the_base() {
    let world = scripted();
    let weak = submitted(&world, "weak", &[("check.sh", "exit 0\n")]);
    let bad = submitted(&world, "bad", &[("bad.txt", "x\n")]);
    let card = world.json(["review", "next", "--task", &weak]);
    assert_eq!(consequences(&card), [("checks".to_owned(), json!(["check.sh"]))], "{card:#}");
    let run = world.run(["land", "--all", "--json"]).exits(5);
    assert_eq!([&weak, &bad].map(|task| status(&world, task)), ["done", "in_progress"], "{run:?}");
    let told = world.value("SELECT content FROM messages WHERE to_lane = 'bad'");
    assert!(told.contains("fails the check 'sh check.sh' with check.sh of main on the merged tree"), "{told}");
    assert!(told.contains("What was run: main without it: passes; with check.sh as merged: passes."), "{told}");

    // In one lane, and with a script that is gone.
    for text in [Some("exit 0\n"), None] {
        let world = scripted();
        let task = submitted(&world, "both", &[("bad.txt", "x\n")]);
        match text {
            Some(text) => fs::write(lane_dir(&world, "both").join("check.sh"), text).unwrap(),
            None => fs::remove_file(lane_dir(&world, "both").join("check.sh")).unwrap(),
        }
        let tip = commit(&world, "both", &[]);
        world.run(["task", "submit", &task, "--commit", &tip]).exits(0);
        world.run(["land", &task, "--json"]).refuses(5, "land_check_failed");
    }
    // A script that becomes stricter lands when both pass.
    let world = scripted();
    let task = submitted(&world, "strict", &[("check.sh", "test ! -f bad.txt && test -f shared.txt\n")]);
    world.run(["land", &task]).exits(0);
}

fn consequences(card: &Value) -> Vec<(String, Value)> {
    let all = card["card"]["consequences"].as_array().unwrap().iter();
    all.map(|one| (one["kind"].as_str().unwrap().to_owned(), one["paths"].clone())).collect()
}
