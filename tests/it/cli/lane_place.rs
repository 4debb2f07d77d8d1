//! Where the worktrees of lanes lie, as `[lanes] dir` says, and what walks into them.

use std::fs;
use std::path::{Path, PathBuf};

use super::land::{NO_GATES, project, status};
use crate::common::TestProject;

/// Sets the directory for this machine, and trusts that.
fn set(world: &TestProject, dir: &str) {
    fs::write(world.root().join(".fairway/local.toml"), format!("[lanes]\ndir = '{dir}'\n")).unwrap();
    world.run(["trust"]).exits(0);
}

fn worktree(world: &TestProject, lane: &str) -> PathBuf {
    PathBuf::from(world.json(["lane", "show", lane])["lane"]["worktree"].as_str().unwrap())
}

#[test]
fn new_lanes_lie_where_the_setting_says_and_work_as_before() {
    let world = project(NO_GATES);
    let root = world.root();
    world.run(["lane", "add", "old", "--create-worktree"]).exits(0);
    fs::write(root.join(".fairway/local.toml"), "[lanes]\ndir = '../{project}.lanes'\n").unwrap();
    world.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(9, "untrusted");
    set(&world, "lanes");
    let run = world.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(2, "usage");
    assert!(
        run.stderr.contains("dir = '../{project}.lanes': fairway config edit") && !root.join("lanes").exists(),
        "{run:?}"
    );

    set(&world, "../{project}.lanes");
    let outside = world.dir().join("project.lanes");
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let task = world.json(["task", "add", "Work", "--lane", "ui"]);
    let dir = worktree(&world, "ui");
    assert_eq!((dir.as_path(), worktree(&world, "old")), (&*outside.join("ui"), root.join(".fairway/worktrees/old")));
    assert_eq!(world.git(&root, &["status", "--short"]), "");
    let task = task["id"].as_str().unwrap();
    fs::write(dir.join("ui.txt"), "ui\n").unwrap();
    world.git(&dir, &["add", "--all"]);
    world.git(&dir, &["commit", "--quiet", "--message=ui"]);
    for words in [&["claim", task][..], &["task", "submit", task]] {
        let run = world.fairway(words).current_dir(&dir).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    }
    world.run(["land", task]).exits(0);
    assert_eq!((status(&world, task), dir.exists(), root.join("ui.txt").exists()), ("done".to_owned(), false, true));

    // An absolute directory; and the project moves away from its lanes.
    let far = world.dir().join("far");
    set(&world, far.to_str().unwrap());
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let moved = world.dir().join("moved");
    fs::rename(&root, &moved).unwrap();
    for lane in ["api", "old"] {
        let run = world.fairway(["lane", "repair", lane]).current_dir(&moved).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    }
    for dir in [far.join("api"), moved.join(".fairway/worktrees/old")] {
        assert_eq!(world.git(Path::new(&dir), &["status", "--short"]), "");
    }
    fs::rename(&moved, &root).unwrap();
}

#[test]
fn tools_that_walk_into_lanes_are_named_with_what_keeps_them_out() {
    let world = TestProject::with_git();
    let root = world.root();
    fs::write(root.join("package.json"), r#"{"devDependencies": {"prettier": "3", "vitest": "3"}}"#).unwrap();
    let walks = |world: &TestProject| {
        let found = world.run(["doctor", "--json"]).json()["findings"].clone();
        let found = found.as_array().unwrap().iter().filter(|one| one["code"] == "walks_into_lanes");
        found.map(|one| one["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(walks(&world), [""; 0], "there is no lane");
    let left = world.json(["setup", "--dry-run"])["left"].to_string();
    assert!(left.contains("keep prettier out of the lanes below .fairway: echo .fairway >>.prettierignore"), "{left}");
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let found = walks(&world);
    assert!(found.len() == 2 && found[1].starts_with("prettier looks at the files of lanes"), "{found:?}");
    fs::write(root.join(".prettierignore"), ".fairway\n").unwrap();
    assert_eq!(walks(&world).len(), 1);
}
