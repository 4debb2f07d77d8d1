//! `kill -9` of a landing, or of the git that it runs, at many of their calls: the base is before or after, and the next
//! landing completes the checkout, the task and the record.

use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use super::strace::{self, Point, Reach};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, invariants};

/// The number of points at which a landing is killed, and that at which its git is.
fn wanted() -> usize {
    std::env::var("FAIRWAY_SOAK").map_or(4, |_| 100)
}

fn in_place<'a>(world: &TestProject, place: &Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = world.fairway(words);
    command.env("HOME", place.join("home")).current_dir(place);
    command
}

fn run(world: &TestProject, place: &Path, words: &[&str]) -> CommandOutput {
    in_place(world, place, words.iter().copied()).output().unwrap().into()
}

fn read(place: &Path, query: &str) -> String {
    let conn = Connection::open(place.join(".fairway/fairway.db")).unwrap();
    conn.query_row(query, [], |row| row.get::<_, String>(0)).unwrap()
}

/// Where each landing takes place: git and the store name the worktree by its whole path.
fn place(world: &TestProject) -> std::path::PathBuf {
    world.dir().join("point")
}

/// A landing that is killed.
struct Scene {
    /// Each has a worktree and a submitted task.
    lanes: &'static [&'static str],
    words: &'static [&'static str],
    /// Whether `main` follows a repository beside it, which gets the work first.
    has_remote: bool,
    /// The end of the configuration.
    config: &'static str,
}

const ONE: Scene = Scene { lanes: &["ui"], words: &["land", "T-1"], has_remote: false, config: "" };
const BATCH: Scene = Scene { lanes: &["ui", "api", "tax"], words: &["land", "T-1", "T-2", "T-3"], ..ONE };
const AT_ONCE: Scene = Scene { config: "[land]\nbatch = 1\nwidth = 3\n", ..BATCH };
const PUSHED: Scene = Scene { words: &["land", "T-1", "T-2", "T-3", "--push"], has_remote: true, ..BATCH };

impl Scene {
    /// The subjects of the base before and after.
    fn subjects(&self) -> [String; 2] {
        let landed: String = (1..=self.lanes.len()).rev().map(|number| format!("T-{number}: Work\n")).collect();
        ["begin\n".to_owned(), format!("{landed}begin\n")]
    }
}

/// A copy of a project with submitted tasks in lanes with worktrees, made in the place.
fn template(world: &TestProject, scene: &Scene) -> std::path::PathBuf {
    let template = place(world);
    fs::create_dir_all(template.join("home")).unwrap();
    let git = |args: &[&str]| world.git(&template, args);
    git(&["init", "--quiet", "--initial-branch=main"]);
    run(world, &template, &["init", "--quiet"]).exits(0);
    let config = fs::read_to_string(template.join(".fairway.toml")).unwrap();
    let gates = "\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n";
    fs::write(template.join(".fairway.toml"), config + gates + scene.config).unwrap();
    fs::write(template.join(".gitignore"), "home\ntrace\nremote.git\n").unwrap();
    for (name, text) in [("kept", "kept\n"), ("edited", "old\n"), ("gone", "gone\n")] {
        fs::write(template.join(name), text).unwrap();
    }
    git(&["config", "user.name", "Ann"]);
    git(&["config", "user.email", "ann@example.com"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=begin"]);
    if scene.has_remote {
        git(&["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
        git(&["remote", "add", "origin", &template.join("remote.git").display().to_string()]);
        git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    }
    for (number, name) in scene.lanes.iter().enumerate() {
        run(world, &template, &["lane", "add", name, "--create-worktree"]).exits(0);
        let lane = template.join(".fairway/worktrees").join(name);
        if number == 0 {
            fs::write(lane.join("edited"), "new\n").unwrap();
            fs::write(lane.join("added"), "added\n").unwrap();
            fs::remove_file(lane.join("gone")).unwrap();
        } else {
            fs::write(lane.join(format!("of-{name}")), "added\n").unwrap();
        }
        world.git(&lane, &["add", "--all"]);
        world.git(&lane, &["commit", "--quiet", "--message=work"]);
        let task = format!("T-{}", number + 1);
        run(world, &template, &["task", "add", "Work", "--lane", name, "--check", "own=test ! -f gone"]).exits(0);
        run(world, &template, &["claim", &task]).exits(0);
        let tip = git(&["rev-parse", &format!("lane/{name}")]);
        run(world, &template, &["task", "submit", &task, "--commit", tip.trim()]).exits(0);
    }
    fs::write(template.join("untracked"), "mine\n").unwrap();
    let kept = world.dir().join("template");
    fs::rename(&template, &kept).unwrap();
    kept
}

fn check(world: &TestProject, place: &Path, scene: &Scene, about: &str) {
    let git = |args: &[&str]| world.git(place, args);
    let [before, after] = scene.subjects();
    let subjects = git(&["log", "--first-parent", "--format=%s", "main"]);
    assert!([&before, &after].contains(&&subjects), "{about}: {subjects}");
    invariants::check(&place.join(".fairway/fairway.db"));
    run(world, place, scene.words).exits(0);
    let subjects = git(&["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!(subjects, after, "{about}");
    assert_eq!(git(&["status", "--porcelain"]), "?? untracked\n", "{about}");
    let mut files = vec![".fairway.toml", ".gitignore", "added", "edited", "kept"]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    files.extend(scene.lanes.iter().skip(1).map(|name| format!("of-{name}")));
    files.sort();
    assert_eq!(git(&["ls-tree", "--name-only", "main"]).lines().collect::<Vec<_>>(), files, "{about}");
    assert_eq!(fs::read_to_string(place.join("edited")).unwrap(), "new\n", "{about}");
    assert_eq!(fs::read_to_string(place.join("untracked")).unwrap(), "mine\n", "{about}");
    // The lanes have ended, unless a worktree was half removed: then all that it held is on the base.
    assert_eq!(git(&["for-each-ref", "refs/fairway"]), "", "{about}");
    assert_eq!(git(&["for-each-ref", "--format=%(refname)", "refs/heads"]), "refs/heads/main\n", "{about}");
    for name in scene.lanes {
        assert!(!place.join(".fairway/worktrees").join(name).exists(), "{about}");
        let of_lane = |line: &&str| line.contains(&format!("worktrees/{name}"));
        assert_eq!(git(&["worktree", "list"]).lines().filter(of_lane).count(), 0, "{about}");
    }
    assert_eq!(read(place, "SELECT group_concat(DISTINCT status) FROM lanes"), "closed", "{about}");
    assert_eq!(read(place, "SELECT group_concat(DISTINCT status) FROM tasks"), "done", "{about}");
    let landed = read(place, "SELECT landed_commit FROM tasks ORDER BY id DESC LIMIT 1");
    assert_eq!(landed, git(&["rev-parse", "main"]).trim(), "{about}");
    let count = |query: &str| read(place, &format!("SELECT CAST(count(*) AS TEXT) FROM {query}"));
    assert_eq!(count("landings WHERE ended_at IS NULL"), "0", "{about}");
    if scene.has_remote {
        assert_eq!(git(&["--git-dir=remote.git", "rev-parse", "main"]), git(&["rev-parse", "main"]), "{about}");
    }
    // Each landed once, and nobody is blamed.
    assert_eq!(count("events WHERE kind = 'task.landed'"), scene.lanes.len().to_string(), "{about}");
    assert_eq!(count("landings WHERE state = 'sent_back'"), "0", "{about}");
    assert_eq!(count("messages"), "0", "{about}");
    invariants::check(&place.join(".fairway/fairway.db"));
}

fn killed_everywhere(world: &TestProject, template: &Path, scene: &Scene, reach: Reach, all: &[Point]) -> usize {
    let mut killed = 0;
    for number in 0..wanted().min(all.len()) {
        let mut point = all[number * all.len() / wanted().min(all.len())].clone();
        if reach == Reach::Tree {
            // The calls of all processes were counted together; each one alone makes fewer.
            point.number = point.number / 8 + 1;
        }
        let point = &point;
        let about = format!("{reach:?} killed at {point:?}");
        let place = strace::copy(template, &place(world));
        let first =
            strace::killed_at(world, &place, reach, &in_place(world, &place, scene.words.iter().copied()), point);
        killed += usize::from(first.code != Some(0));
        check(world, &place, scene, &about);
        fs::remove_dir_all(place).unwrap();
    }
    killed
}

fn kill(scene: &Scene, reaches: &[Reach]) {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    world.real_time();
    let template = template(&world, scene);
    for reach in reaches.iter().copied() {
        let place = strace::copy(&template, &place(&world));
        let command = in_place(&world, &place, scene.words.iter().copied());
        let all = strace::points(&world, &place, reach, &command, ".fairway.toml");
        check(&world, &place, scene, "not killed");
        fs::remove_dir_all(place).unwrap();
        let killed = killed_everywhere(&world, &template, scene, reach, &all);
        // Some of the gits that are killed are asked again, or only tidy up.
        let least = if reach == Reach::Tree { wanted() / 4 } else { wanted() / 2 };
        assert!(killed >= least, "only {killed} of {} were killed ({reach:?})", wanted());
    }
}

#[test]
fn killed_landing_is_before_or_after_and_completed_by_the_next() {
    kill(&ONE, &[Reach::Process, Reach::Tree]);
}

#[test]
fn killed_batch_is_before_or_after_as_a_whole_and_completed_by_the_next() {
    kill(&BATCH, &[Reach::Process, Reach::Tree]);
}

/// Each of the processes that check a tree ends with the landing.
#[test]
fn killed_landing_with_checks_at_once_is_before_or_after_and_completed_by_the_next() {
    kill(&AT_ONCE, &[Reach::Process]);
}

/// A remote whose own processes are killed keeps their locks, so that only the landing is.
#[test]
fn killed_batch_that_is_pushed_is_at_the_remote_and_here_or_at_neither_in_the_end() {
    kill(&PUSHED, &[Reach::Process]);
}
