//! A lane that is quiet is not looked at by git again, and every change of it is found all the same.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{tree, with_lanes};
use crate::common::TestProject;

/// Times of files do not tell of changes within this time.
const RACY: Duration = Duration::from_millis(3100);

/// Lets each call of git write its arguments into the file that is returned.
fn count_git(world: &mut TestProject) -> PathBuf {
    let (calls, bin) = (world.dir().join("calls"), world.dir().join("bin"));
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\nPATH='{path}' exec git \"$@\"\n", calls.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    calls
}

fn looks(calls: &Path) -> usize {
    let text = fs::read_to_string(calls).unwrap_or_default();
    let _ = fs::remove_file(calls);
    text.lines().filter(|line| line.contains("ls-files")).count()
}

/// What each lane changes: files and numbers of lines.
fn changes(world: &TestProject) -> Vec<Value> {
    let lane = |one: &Value| serde_json::json!([one["lane"], one["files"], one["added"], one["deleted"]]);
    world.json(["overlap"])["lanes"].as_array().unwrap().iter().map(lane).collect()
}

/// A name, what is there before, and a change that adds or takes away a file or a line.
type Change = (&'static str, fn(&Path), fn(&Path));

fn nothing(_: &Path) {}

fn same_size_and_times(dir: &Path) {
    let file = dir.join("f");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let text = fs::read_to_string(&file).unwrap().replacen('1', "9", 1);
    fs::write(&file, text).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
}

const CHANGES: [Change; 12] = [
    ("same-size", nothing, same_size_and_times),
    ("new", nothing, |dir| fs::write(dir.join("new"), "x\n").unwrap()),
    ("gone", nothing, |dir| fs::remove_file(dir.join("g")).unwrap()),
    ("mode", nothing, |dir| fs::set_permissions(dir.join("g"), fs::Permissions::from_mode(0o755)).unwrap()),
    ("link", nothing, |dir| {
        fs::remove_file(dir.join("g")).unwrap();
        symlink("f", dir.join("g")).unwrap();
    }),
    (
        "empty-dir",
        |dir| fs::create_dir_all(dir.join("a/b/c")).unwrap(),
        |dir| fs::write(dir.join("a/b/c/new"), "x\n").unwrap(),
    ),
    (
        "untracked",
        |dir| {
            fs::create_dir(dir.join("u")).unwrap();
            fs::write(dir.join("u/file"), "one\n").unwrap();
        },
        |dir| fs::write(dir.join("u/file"), "one\ntwo\n").unwrap(),
    ),
    (
        "ignored",
        |dir| {
            fs::create_dir(dir.join("target")).unwrap();
            fs::write(dir.join("target/out"), "one\n").unwrap();
            fs::write(dir.join(".gitignore"), "target/\n").unwrap();
        },
        |dir| fs::write(dir.join(".gitignore"), "nothing\n").unwrap(),
    ),
    (
        "hidden-ignore",
        |dir| {
            fs::create_dir(dir.join("d")).unwrap();
            fs::write(dir.join("d/out"), "one\n").unwrap();
            fs::write(dir.join("d/.gitignore"), "*\n").unwrap();
        },
        |dir| fs::write(dir.join("d/.gitignore"), ".gitignore\n").unwrap(),
    ),
    (
        "large",
        |dir| fs::write(dir.join("large"), vec![b'x'; 2 << 20]).unwrap(),
        |dir| fs::write(dir.join("large"), "small\n").unwrap(),
    ),
    (
        "gone-dir",
        |dir| {
            fs::create_dir_all(dir.join("m/n")).unwrap();
            fs::write(dir.join("m/n/file"), "one\n").unwrap();
        },
        |dir| fs::remove_dir_all(dir.join("m")).unwrap(),
    ),
    ("nested", nothing, |dir| {
        fs::create_dir_all(dir.join("nested/.git")).unwrap();
        fs::write(dir.join("nested/file"), "x\n").unwrap();
    }),
];

#[test]
fn quiet_lanes_cost_no_look_of_git_and_every_change_is_found() {
    let names = CHANGES.map(|(name, ..)| name);
    let mut world = with_lanes(&["f", "g"], &names);
    for (name, before, _) in CHANGES {
        before(&tree(&world, name));
    }
    changes(&world);
    thread::sleep(RACY);
    // Git finds nothing new, which is kept.
    let quiet = changes(&world);
    let calls = count_git(&mut world);
    assert_eq!(changes(&world), quiet);
    // What is known by name only is looked at each time.
    assert_eq!(looks(&calls), 2);
    for (name, _, change) in CHANGES {
        change(&tree(&world, name));
    }
    let found = changes(&world);
    assert!(looks(&calls) >= CHANGES.len());
    for ((before, after), (name, ..)) in quiet.iter().zip(&found).zip(sorted()) {
        // A mode and a line of the same length change a file; the others change numbers.
        assert_ne!(before, after, "{name}");
    }
    // As a look that knows nothing of before.
    fs::remove_dir_all(world.root().join(".fairway/overlap")).unwrap();
    assert_eq!(changes(&world), found);
}

fn sorted() -> Vec<Change> {
    let mut all = CHANGES.to_vec();
    all.sort_by_key(|(name, ..)| *name);
    all
}

#[test]
fn rules_for_ignored_files_that_are_outside_of_the_worktree_are_looked_at() {
    let world = with_lanes(&["f"], &["ui"]);
    let dir = tree(&world, "ui");
    fs::write(dir.join("note"), "one\n").unwrap();
    let [exclude, global] = [world.root().join(".git/info/exclude"), world.dir().join("home/.config/git/ignore")];
    for file in [&exclude, &global] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = fs::read(file).unwrap_or_default();
        changes(&world);
        thread::sleep(RACY);
        let quiet = changes(&world);
        assert_eq!(changes(&world), quiet);
        fs::write(dir.join("more"), "one\n").unwrap();
        let with_more = changes(&world);
        assert_ne!(with_more, quiet);
        fs::remove_file(dir.join("more")).unwrap();
        assert_eq!(changes(&world), quiet);
        fs::write(file, "fresh\n").unwrap();
        fs::write(dir.join("fresh"), "one\n").unwrap();
        assert_eq!(changes(&world), quiet, "{}", file.display());
        thread::sleep(RACY);
        assert_eq!(changes(&world), quiet);
        fs::write(file, before).unwrap();
        assert_ne!(changes(&world), quiet, "{}", file.display());
        fs::remove_file(dir.join("fresh")).unwrap();
    }
}
