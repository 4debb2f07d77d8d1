//! Lanes that stand on another lane, and their pull requests.

use std::fs;

use serde_json::json;

use super::land::{lane_dir, main_commit, status, submitted};
use super::pull_requests::{branch, messages, on_forge, pulls, world};
use crate::common::TestProject;

/// Submits a task of a lane that stands on other work, with a commit that writes these files.
fn stacked(world: &TestProject, lane: &str, below: &str, files: &[(&str, &str)]) -> (String, String) {
    world.run(["lane", "add", lane, "--on", below]).exits(0);
    let task = world.json(["task", "add", &format!("Work on {lane}"), "--lane", lane, "--depends-on", below]);
    let task = task["id"].as_str().unwrap().to_owned();
    world.run(["claim", &task]).exits(0);
    let commit = super::land::commit(world, lane, files);
    world.run(["task", "submit", &task, "--commit", &commit]).exits(0);
    (task, commit)
}

/// A lane that stands on another one is proposed on its branch. When that lands as other commits, its own ones move, and nothing else.
#[test]
fn stack_lands_from_below_by_squash_and_by_rebase() {
    let world = world("");
    let below = submitted(&world, "ui", &[("a.txt", "a\n")]);
    let (middle, first) = stacked(&world, "tax", &below, &[("b.txt", "b\n")]);
    let (top, _) = stacked(&world, "docs", &middle, &[("c.txt", "c\n")]);
    let lane = world.run(["lane", "show", "tax"]).exits(0).stdout;
    assert!(lane.contains("stands on   ui\n"), "{lane}");
    let board = world.run(["status"]).exits(0).stdout;
    assert!(board.contains("lane tax stands on ui"), "{board}");
    let early = world.run(["land", &middle]).exits(5);
    assert!(early.stderr.contains("hint: open its pull request first: fairway land lane:ui --pr"), "{}", early.stderr);
    world.run(["land", "--all"]).exits(0);
    let bases = |world: &TestProject| -> Vec<_> {
        pulls(world).as_array().unwrap().iter().map(|one| one["base"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(bases(&world), ["main", "lane/ui", "lane/tax"]);
    // Another lane needs the branch.
    let held = world.run(["lane", "close", "ui", "--rm-worktree"]).exits(4);
    assert!(held.stderr.contains("hint: do this first: fairway lane edit tax --base main"), "{}", held.stderr);
    on_forge(&world, &["merge", "1", "squash"]);
    let synced = world.run(["pr", "sync"]).exits(0);
    let note =
        format!("the lane tax stood on ui, and stands on main now; its commits moved; next: fairway land {middle}");
    assert!(synced.stderr.contains(&note), "{}", synced.stderr);
    assert_eq!(
        (status(&world, &below), bases(&world)),
        ("done".into(), ["main", "main", "lane/tax"].map(String::from).into())
    );
    assert!(!lane_dir(&world, "ui").exists());
    let own =
        |lane: &str, base: &str| world.git(&world.root(), &["rev-list", "--count", &format!("{base}..lane/{lane}")]);
    assert_eq!(own("tax", "main").trim(), "1");
    let moved = world.git(&world.root(), &["rev-parse", "lane/tax"]).trim().to_owned();
    assert!(moved != first && branch(&world, "lane/tax") == first);
    assert_eq!(world.json(["task", "show", &middle])["commit"], json!(moved));
    // The lane above has the old commits of the one below it, and gets the new ones by the same rule.
    world.run(["lane", "sync", "docs"]).exits(0);
    assert_eq!(own("docs", "lane/tax").trim(), "1");
    let submitted = world.git(&world.root(), &["rev-parse", "lane/docs"]).trim().to_owned();
    world.run(["task", "submit", &top, "--commit", &submitted]).exits(0);
    world.run(["land", "--all"]).exits(0);
    assert_eq!(branch(&world, "lane/tax"), moved);
    on_forge(&world, &["merge", "2", "rebase"]);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((own("docs", "main").trim(), bases(&world)[2].as_str()), ("1", "main"));
    world.run(["land", "--all"]).exits(0);
    on_forge(&world, &["merge", "3"]);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!(status(&world, &top), "done");
    let files = world.git(&world.root(), &["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!((files.lines().count(), messages(&world)), (5, "0".to_owned()), "{files}");
    assert_eq!(world.git(&world.root(), &["for-each-ref", "refs/fairway/on"]), "");
}

/// What cannot move stays as it is, and whoever works there is told the command that moves it.
#[test]
fn stacked_lane_that_cannot_move_is_told_the_command() {
    let world = world("");
    let below = submitted(&world, "ui", &[("a.txt", "a\n")]);
    stacked(&world, "tax", &below, &[("a.txt", "b\n")]);
    stacked(&world, "docs", &below, &[("c.txt", "c\n")]);
    world.run(["land", &below]).exits(0);
    fs::write(lane_dir(&world, "docs").join("c.txt"), "more\n").unwrap();
    // Somebody changes the line there before the merge.
    let other = world.dir().join("other");
    world.git(world.dir(), &["clone", "--quiet", "--branch=lane/ui", "remote.git", "other"]);
    fs::write(other.join("a.txt"), "theirs\n").unwrap();
    world.git(&other, &["commit", "--quiet", "--all", "--message=theirs"]);
    world.git(&other, &["push", "--quiet"]);
    on_forge(&world, &["merge", "1", "squash"]);
    world.run(["pr", "sync"]).exits(0);
    world.run(["pr", "sync"]).exits(0);
    let texts = world.value("SELECT group_concat(content, char(10)) FROM (SELECT content FROM messages ORDER BY id)");
    assert_eq!(texts.lines().count(), 2, "{texts}");
    assert!(texts.contains("Commit your work, then move it: fairway lane sync docs"), "{texts}");
    let command = texts.lines().find_map(|line| line.split_once("move it: git ")).unwrap().1;
    assert!(command.contains("rebase --onto main "), "{texts}");
    world.git(&lane_dir(&world, "docs"), &["commit", "--quiet", "--all", "--message=more"]);
    world.run(["lane", "sync", "docs"]).exits(0);
    assert_eq!(world.git(&world.root(), &["rev-list", "--count", "main..lane/docs"]).trim(), "2");
    assert_eq!(world.git(&lane_dir(&world, "docs"), &["show", "HEAD:a.txt"]), "theirs\n");
    assert!(!main_commit(&world).is_empty());
}
