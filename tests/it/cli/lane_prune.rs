//! Worktrees that go, with `lane close --rm-worktree`, `lane prune` and `lane rm`, and worktrees that are gone.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::TestProject;

fn project(lanes: &[&str]) -> TestProject {
    let world = TestProject::with_git();
    for lane in lanes {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    }
    world
}

fn tree(world: &TestProject, lane: &str) -> PathBuf {
    world.root().join(".fairway/worktrees").join(lane)
}

fn commit(world: &TestProject, dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap();
    world.git(dir, &["add", "--all"]);
    world.git(dir, &["commit", "--quiet", &format!("--message={name}")]);
}

fn kept(pruned: &Value) -> Vec<(String, String)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    pruned["kept"].as_array().unwrap().iter().map(|one| (text(one, "lane"), text(one, "code"))).collect()
}

fn removed(pruned: &Value) -> Vec<&str> {
    pruned["removed"].as_array().unwrap().iter().map(|one| one["lane"].as_str().unwrap()).collect()
}

#[test]
fn close_removes_a_merged_worktree_and_repair_makes_it_again() {
    let world = project(&["ui"]);
    let tree = tree(&world, "ui");
    world.run(["task", "add", "T-1", "one", "--lane", "ui"]).exits(0);
    world.add_session("s1");
    world.run(["session", "upsert", "--id", "s1", "--lane", "ui"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    let refused = |what: &str, hint: &str| {
        let error = world.run(["lane", "close", "ui", "--rm-worktree", "--json"]).refuses(4, "in_use").error();
        assert_eq!(error["message"], format!("lane 'ui' is in use: {what}"));
        assert_eq!(error["hint"], format!("do this first: {hint}"));
        assert_eq!(world.json(["lane", "show", "ui"])["lane"]["status"], "open");
        assert!(tree.join("code.txt").exists());
    };
    refused("session s1 is running", "fairway session stop s1");
    world.run(["session", "end", "s1"]).exits(0);
    refused("T-1 is claimed by s1", "fairway release T-1 --force --reason TEXT");
    world.run(["evidence", "add", "T-1", "--result", "pass", "--session", "s1"]);
    world.run(["task", "cancel", "T-1", "--reason", "over", "--force"]).exits(0);
    fs::write(tree.join("notes.txt"), "n\n").unwrap();
    world.run(["lane", "close", "ui", "--rm-worktree", "--json"]).refuses(5, "unsaved_work");
    fs::remove_file(tree.join("notes.txt")).unwrap();
    // Ignored files go with the worktree, as by git itself.
    fs::write(world.root().join(".git/info/exclude"), "*.log\n").unwrap();
    fs::write(tree.join("x.log"), "l\n").unwrap();
    let run = world.run(["lane", "close", "ui", "--rm-worktree"]).exits(0);
    assert!(run.stdout.starts_with("closed lane ui, removed its worktree and its branch lane/ui (was "), "{run:?}");
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    // Once more changes nothing, and the lane is still known.
    let run = world.run(["lane", "close", "ui", "--rm-worktree"]).exits(0);
    assert_eq!(run.stdout, "unchanged: lane ui is closed already\n");
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "ui");
    // A closed lane without its worktree is no problem; an open one is.
    world.run(["doctor"]).exits(0);
    let run = world.run(["lane", "open", "ui"]).exits(0);
    assert_eq!(run.stderr, "its worktree is gone; make it again: fairway lane repair ui\n");
    world.run(["doctor"]).exits(1);
    world.run(["lane", "repair", "ui"]).exits(0);
    assert!(tree.join("code.txt").exists());
    world.run(["doctor"]).exits(0);
}

/// Each way in which work is in the base, and each in which it is not.
#[test]
fn prune_takes_merged_work_and_keeps_the_rest() {
    let lanes = ["dirty", "locked", "merged", "open", "picked", "squashed", "unmerged", "untracked"];
    let world = project(&lanes);
    let root = world.root();
    let at = |lane: &str| tree(&world, lane);
    commit(&world, &at("merged"), "merged.txt", "1\n");
    world.git(&root, &["merge", "--quiet", "--no-ff", "--message=merge", "lane/merged"]);
    commit(&world, &at("picked"), "picked.txt", "1\n");
    world.git(&root, &["cherry-pick", "lane/picked"]);
    // Two commits that became one.
    commit(&world, &at("squashed"), "squashed.txt", "1\n");
    commit(&world, &at("squashed"), "squashed.txt", "2\n");
    world.git(&root, &["merge", "--quiet", "--squash", "lane/squashed"]);
    world.git(&root, &["commit", "--quiet", "--message=squashed"]);
    commit(&world, &at("unmerged"), "unmerged.txt", "1\n");
    fs::write(at("dirty").join("code.txt"), "changed\n").unwrap();
    fs::write(at("untracked").join("new.txt"), "n\n").unwrap();
    world.git(&root, &["worktree", "lock", "--reason", "on a disk", at("locked").to_str().unwrap()]);
    for lane in lanes.iter().filter(|lane| **lane != "open") {
        world.run(["lane", "close", lane]).exits(0);
    }
    let own = world.dir().join("own");
    world.git(&root, &["worktree", "add", "--quiet", "-b", "own", own.to_str().unwrap()]);
    world.run(["lane", "add", "own", "--branch", "own", "--worktree", own.to_str().unwrap()]).exits(0);
    world.run(["lane", "close", "own"]).exits(0);

    let expected: Vec<(String, String)> = [
        ("dirty", "unsaved_work"),
        ("locked", "locked"),
        ("open", "open"),
        ("own", "worktree_not_owned"),
        ("unmerged", "unsaved_work"),
        ("untracked", "unsaved_work"),
    ]
    .map(|(lane, code)| (lane.into(), code.into()))
    .into();
    let before = world.branches_and_worktrees();
    let planned = world.json(["lane", "prune", "--dry-run"]);
    assert_eq!(removed(&planned), ["merged", "picked", "squashed"]);
    assert_eq!(kept(&planned), expected);
    assert_eq!(world.branches_and_worktrees(), before);
    let pruned = world.json(["lane", "prune", "--request-id", "r1"]);
    assert_eq!((removed(&pruned), kept(&pruned)), (removed(&planned), expected));
    assert_eq!(pruned["removed"][0]["branch"], "lane/merged");
    assert!(!at("merged").exists() && at("unmerged").join("unmerged.txt").exists() && own.exists());
    assert_eq!(world.json(["lane", "prune", "--request-id", "r1"]), pruned);
    let names = world.branches_and_worktrees();
    assert!(!names.contains(&"lane/squashed".into()) && names.contains(&"lane/unmerged".into()), "{names:?}");
    let run = world.run(["lane", "prune"]).exits(0);
    let line = "kept the worktree of lane unmerged: its branch lane/unmerged has commits that are not in main\n    fairway lane diff unmerged\n";
    assert!(run.stdout.contains(line) && !run.stdout.contains("merged.txt"), "{}", run.stdout);
    let kind = "lane.worktree_removed";
    assert_eq!(world.run(["events"]).exits(0).stdout.matches(kind).count(), 3);
}

/// A merge can have changes of its own, which no comparison of commits finds.
#[test]
fn work_in_a_merge_commit_is_unsaved() {
    let world = project(&["ui"]);
    let (root, tree) = (world.root(), tree(&world, "ui"));
    commit(&world, &tree, "lane.txt", "1\n");
    world.git(&root, &["cherry-pick", "lane/ui"]);
    commit(&world, &root, "base.txt", "1\n");
    world.git(&tree, &["merge", "--quiet", "--no-commit", "main"]);
    fs::write(tree.join("only-here.txt"), "in the merge\n").unwrap();
    world.git(&tree, &["add", "--all"]);
    world.git(&tree, &["commit", "--quiet", "--message=merge"]);
    let error = world.run(["lane", "rm", "ui", "--json"]).refuses(5, "unsaved_work").error();
    assert!(error["message"].as_str().unwrap().contains("not in main"), "{error}");
    assert!(tree.join("only-here.txt").exists());
}

/// A rebased branch was merged under other commit ids.
#[test]
fn rebased_work_is_saved() {
    let world = project(&["ui"]);
    let (root, tree) = (world.root(), tree(&world, "ui"));
    commit(&world, &tree, "a.txt", "1\n");
    commit(&world, &tree, "b.txt", "1\n");
    commit(&world, &root, "base.txt", "1\n");
    world.git(&root, &["checkout", "--quiet", "-b", "rebased", "lane/ui"]);
    world.git(&root, &["rebase", "--quiet", "main"]);
    world.git(&root, &["checkout", "--quiet", "main"]);
    world.git(&root, &["merge", "--quiet", "--ff-only", "rebased"]);
    world.run(["lane", "close", "ui", "--rm-worktree"]).exits(0);
    assert!(!tree.exists());
}

#[test]
fn branch_that_is_checked_out_elsewhere_stays() {
    let world = project(&["ui"]);
    let (root, tree) = (world.root(), tree(&world, "ui"));
    world.git(&tree, &["checkout", "--quiet", "--detach"]);
    let other = world.dir().join("other");
    world.git(&root, &["worktree", "add", "--quiet", other.to_str().unwrap(), "lane/ui"]);
    let run = world.run(["lane", "close", "ui", "--rm-worktree"]).exits(0);
    assert_eq!(world.redacted(&run.stderr), "its branch lane/ui stays: it is checked out in [world]/other\n");
    assert!(!tree.exists() && other.join("code.txt").exists());
}

#[test]
fn submodule_keeps_its_worktree_only_with_work_of_its_own() {
    let world = project(&[]);
    let root = world.root();
    let library = world.dir().join("library");
    fs::create_dir(&library).unwrap();
    world.git(&library, &["init", "--quiet", "--initial-branch=main"]);
    commit(&world, &library, "l.txt", "1\n");
    world.git(&root, &["submodule", "--quiet", "add", library.to_str().unwrap(), "vendor/library"]);
    world.git(&root, &["commit", "--quiet", "--message=library"]);
    for lane in ["empty", "clean", "draft", "wip", "gone"] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
        let tree = tree(&world, lane);
        if lane != "empty" {
            world.git(&tree, &["submodule", "--quiet", "update", "--init"]);
        }
        world.run(["lane", "close", lane]).exits(0);
    }
    let inside = |lane: &str| tree(&world, lane).join("vendor/library");
    fs::write(inside("draft").join("notes.txt"), "precious").unwrap();
    for lane in ["wip", "gone"] {
        world.git(&inside(lane), &["switch", "--quiet", "--create", "wip"]);
        commit(&world, &inside(lane), "l.txt", "2\n");
        world.git(&inside(lane), &["checkout", "--quiet", "--detach", "main"]);
    }
    world.git(&tree(&world, "gone"), &["submodule", "--quiet", "deinit", "vendor/library"]);
    for more in [&["--dry-run"][..], &[]] {
        let run = world.run(["lane", "prune", "--json"].iter().chain(more)).exits(0).json();
        let why = ["draft", "gone", "wip"].map(|lane| (lane.to_owned(), "unsaved_work".to_owned()));
        assert_eq!((kept(&run), removed(&run)), (why.to_vec(), vec!["clean", "empty"]));
    }
    let why = |lane: &str| world.run(["lane", "close", lane, "--rm-worktree"]).exits(5).stderr;
    let begins = |lane: &str| {
        format!("error: cannot remove the worktree of the lane {lane}: its worktree has work in the submodule")
    };
    let unpushed = "vendor/library, which has commits that no remote branch of it has\n";
    let draft = "vendor/library, which holds changes that are in no commit (?? notes.txt)\n";
    for (lane, rest) in [("draft", draft), ("wip", unpushed), ("gone", unpushed)] {
        assert!(why(lane).starts_with(&format!("{} {rest}", begins(lane))), "{}", why(lane));
    }
    // Pushed work is saved, and then nothing keeps the worktree.
    world.git(&inside("wip"), &["push", "--quiet", "origin", "wip"]);
    world.run(["lane", "close", "wip", "--rm-worktree"]).exits(0);
    assert!(!tree(&world, "wip").exists());
}

#[test]
fn running_job_keeps_its_worktree() {
    let world = project(&["ui"]);
    let tree = tree(&world, "ui");
    world.run(["exec", "spawn", "--cwd", tree.to_str().unwrap(), "--", "sleep", "60"]).exits(0);
    let error = world.run(["lane", "close", "ui", "--rm-worktree", "--json"]).refuses(4, "in_use").error();
    assert!(error["message"].as_str().unwrap().ends_with("runs in its worktree"), "{error}");
    world.kill_jobs();
    world.run(["lane", "close", "ui", "--rm-worktree"]).exits(0);
}

/// A command that was killed between git and the store leaves a lane that the next one finishes.
#[test]
fn interrupted_removal_is_completed_by_the_next() {
    let world = project(&["a", "b", "c"]);
    let root = world.root();
    for lane in ["a", "b", "c"] {
        world.run(["lane", "close", lane]).exits(0);
    }
    // Killed after git had removed the worktree; and before it had dropped its own record; and with an empty directory.
    world.git(&root, &["worktree", "remove", tree(&world, "a").to_str().unwrap()]);
    fs::remove_dir_all(tree(&world, "b")).unwrap();
    fs::remove_dir_all(tree(&world, "c")).unwrap();
    fs::create_dir(tree(&world, "c")).unwrap();
    assert_eq!(removed(&world.json(["lane", "prune"])), ["a", "b", "c"]);
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    assert_eq!(world.run(["lane", "prune"]).exits(0).stdout, "no worktrees to remove\n");
    world.run(["lane", "rm", "a"]).exits(0);
}

#[test]
fn worktree_that_is_gone_is_found_and_made_again() {
    let world = project(&["ui"]);
    let (root, tree) = (world.root(), tree(&world, "ui"));
    world.run(["trust"]).exits(0);
    commit(&world, &tree, "lane.txt", "1\n");
    fs::remove_dir_all(&tree).unwrap();
    let findings = world.run(["doctor", "--json"]).exits(1).json();
    let found = findings["findings"].as_array().unwrap().iter().find(|one| one["code"] == "worktree_missing").unwrap();
    assert_eq!((&found["severity"], &found["fix"]), (&json!("error"), &json!("fairway lane repair ui")));
    insta::assert_snapshot!(world.transcript(&[
        "fairway session launch --role worker --lane ui -- true",
        "fairway lane diff ui",
        "fairway lane prune",
        "fairway lane repair ui",
        "fairway lane repair ui",
    ]), @"
    $ fairway session launch --role worker --lane ui -- true
    error: the worktree of the lane ui is gone: [world]/project/.fairway/worktrees/ui
    hint: make it again: fairway lane repair ui
    [exit 3]
    $ fairway lane diff ui
    error: the worktree of the lane ui is gone: [world]/project/.fairway/worktrees/ui
    hint: make it again: fairway lane repair ui
    [exit 3]
    $ fairway lane prune
    kept the worktree of lane ui: its worktree is gone
        fairway lane repair ui
    $ fairway lane repair ui
    made the worktree of lane ui again, on its branch lane/ui
    $ fairway lane repair ui
    unchanged: the worktree of lane ui is there
    ");
    assert!(tree.join("lane.txt").exists());
    world.run(["doctor"]).exits(0);

    // Without its `.git` file git would take it for a part of the main checkout.
    fs::remove_file(tree.join(".git")).unwrap();
    world
        .run(["session", "launch", "--role", "worker", "--lane", "ui", "--json", "--", "true"])
        .refuses(3, "not_found");
    world.run(["lane", "rm", "ui", "--json"]).refuses(5, "unsaved_work");
    let findings = world.run(["doctor", "--json"]).exits(1).json();
    let found = findings["findings"].as_array().unwrap().iter().find(|one| one["code"] == "worktree_missing").unwrap();
    let fix: Vec<&str> = found["fix"].as_str().unwrap().split(' ').skip(1).collect();
    world.run(fix).exits(0);
    assert!(tree.join(".git").exists() && tree.join("lane.txt").exists());

    // Interrupted after `worktree add`, before the files were there.
    fs::remove_dir_all(&tree).unwrap();
    world.git(&root, &["worktree", "prune"]);
    world.git(&root, &["worktree", "add", "--quiet", "--no-checkout", tree.to_str().unwrap(), "lane/ui"]);
    world.run(["doctor"]).exits(1);
    world.run(["lane", "repair", "ui"]).exits(0);
    assert_eq!(world.git(&tree, &["status", "--porcelain"]), "");
    world.run(["doctor"]).exits(0);
}

/// A lane that was used is hidden: it is absent everywhere, its history stays, and its name is free.
#[test]
fn used_lane_is_removed_and_its_name_is_free() {
    let world = project(&["ui"]);
    world.run(["task", "add", "T-1", "one", "--lane", "ui"]).exits(0);
    world.add_session("s1");
    world.run(["session", "upsert", "--id", "s1", "--lane", "ui"]).exits(0);
    world.run(["lane", "edit", "ui", "--title", "Old", "--wip", "1"]).exits(0);
    world.run(["lane", "rm", "ui", "--json"]).refuses(4, "in_use");
    world.run(["session", "end", "s1"]).exits(0);
    let error = world.run(["lane", "rm", "ui", "--json"]).refuses(4, "in_use").error();
    assert_eq!(error["message"], "lane 'ui' is in use: 1 open task");
    world.run(["task", "cancel", "T-1", "--reason", "over"]).exits(0);
    let run = world.run(["lane", "rm", "ui"]).exits(0);
    assert_eq!(run.stdout, "removed lane ui, its worktree and its branch lane/ui\n");
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);

    assert_eq!(world.json(["lane", "list"]), json!([]));
    for call in [
        "lane show ui",
        "lane edit ui --wip 2",
        "lane open ui",
        "lane rm ui",
        "lane diff ui",
        "task add T-2 two --lane ui",
        "claim --lane ui",
        "session upsert --id s2 --role worker --lane ui",
        "message send --to-lane ui hello",
        "session launch --role worker --lane ui --dry-run -- true",
    ] {
        let run = world.run(call.split(' ').chain(["--json"]));
        let exit = run.code;
        assert!(matches!(exit, Some(3 | 9)), "{call}: {run:?}");
    }
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "ui");
    assert_eq!(world.json(["session", "show", "s1"])["lane"], "ui");

    let lane = world.json(["lane", "add", "ui", "--role", "writer"]);
    assert_eq!(
        (&lane["title"], &lane["wip_limit"], &lane["worktree"], &lane["status"], &lane["role"]),
        (&Value::Null, &Value::Null, &Value::Null, &json!("open"), &json!("writer"))
    );
    assert_eq!(lane["created_at"], world.now().to_string());
    world.run(["task", "add", "T-2", "two", "--lane", "ui"]).exits(0);
    world.run(["lane", "rm", "ui", "--json"]).refuses(4, "in_use");
}
