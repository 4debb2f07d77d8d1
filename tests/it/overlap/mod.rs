//! Overlap between lanes: what is said, what is told, and that nothing of a lane runs or changes.

mod cooper_bench;
mod hook;
mod hostile;
mod levels;
mod reworks;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::TestProject;

/// Twenty numbered lines, with some replaced.
fn lines(replaced: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let found = replaced.iter().find(|(place, _)| *place == number);
        found.map_or_else(|| format!("{number}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=20).map(line).collect()
}

/// A project with committed files and lanes in worktrees of their own.
fn with_lanes(files: &[&str], lanes: &[&str]) -> TestProject {
    let world = TestProject::with_git();
    for file in files {
        fs::write(world.root().join(file), lines(&[])).unwrap();
    }
    commit(&world, &world.root(), "files");
    for lane in lanes {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    }
    world
}

fn tree(world: &TestProject, lane: &str) -> PathBuf {
    world.root().join(".fairway/worktrees").join(lane)
}

fn write(world: &TestProject, lane: &str, file: &str, text: &str) {
    let path = tree(world, lane).join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(world: &TestProject, dir: &Path, message: &str) {
    world.git(dir, &["add", "--all"]);
    world.git(dir, &["commit", "--quiet", &format!("--message={message}")]);
}

/// The overlaps in short: `level lane:other file,file`, or with the reason where it cannot be judged.
fn said(world: &TestProject, args: &[&str]) -> Vec<String> {
    let found = world.json([&["overlap"], args].concat());
    assert_eq!(found["problem"], Value::Null, "{found:#}");
    found["overlaps"].as_array().unwrap().iter().map(short).collect()
}

fn short(one: &Value) -> String {
    let text = |key: &str| one[key].as_str().unwrap_or("-").to_owned();
    let files: Vec<&str> = one["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    let what = if files.is_empty() { text("why") } else { files.join(",") };
    format!("{} {}:{} {what}", text("level"), text("lane"), text("other_lane"))
}
