//! `kill -9` of a landing, or of the git that it runs, at many of their calls: the base is before or after, and the next
//! landing completes the checkout, the task and the record.

use std::{fs, path::Path, process::Command};

use rusqlite::Connection;

use super::strace::{self, Point, Reach};
use crate::common::{TestProject, invariants, test_project::CommandOutput};

/// The number of points at which a landing is killed, and that at which its git is.
fn wanted() -> usize {
    std::env::var("FAIRWAY_SOAK").map_or(6, |_| 100)
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

/// A copy of a project with a submitted task in a lane with a worktree, made in the place.
fn template(world: &TestProject) -> std::path::PathBuf {
    let template = place(world);
    fs::create_dir_all(template.join("home")).unwrap();
    let git = |args: &[&str]| world.git(&template, args);
    git(&["init", "--quiet", "--initial-branch=main"]);
    run(world, &template, &["init", "--quiet"]).exits(0);
    let config = fs::read_to_string(template.join(".fairway.toml")).unwrap();
    let gates = "\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n";
    fs::write(template.join(".fairway.toml"), config + gates).unwrap();
    fs::write(template.join(".gitignore"), "home\ntrace\n").unwrap();
    for (name, text) in [("kept", "kept\n"), ("edited", "old\n"), ("gone", "gone\n")] {
        fs::write(template.join(name), text).unwrap();
    }
    git(&["config", "user.name", "Ann"]);
    git(&["config", "user.email", "ann@example.com"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=begin"]);
    run(world, &template, &["lane", "add", "ui", "--create-worktree"]).exits(0);
    let lane = template.join(".fairway/worktrees/ui");
    fs::write(lane.join("edited"), "new\n").unwrap();
    fs::write(lane.join("added"), "added\n").unwrap();
    fs::remove_file(lane.join("gone")).unwrap();
    world.git(&lane, &["add", "--all"]);
    world.git(&lane, &["commit", "--quiet", "--message=work"]);
    fs::write(template.join("untracked"), "mine\n").unwrap();
    run(world, &template, &["task", "add", "Work", "--lane", "ui"]).exits(0);
    run(world, &template, &["claim", "T-1"]).exits(0);
    let tip = git(&["rev-parse", "lane/ui"]);
    run(world, &template, &["task", "submit", "T-1", "--commit", tip.trim()]).exits(0);
    let kept = world.dir().join("template");
    fs::rename(&template, &kept).unwrap();
    kept
}

fn check(world: &TestProject, place: &Path, about: &str) {
    let git = |args: &[&str]| world.git(place, args);
    let subjects = git(&["log", "--first-parent", "--format=%s", "main"]);
    assert!(["begin\n", "T-1: Work\nbegin\n"].contains(&&*subjects), "{about}: {subjects}");
    invariants::check(&place.join(".fairway/fairway.db"));
    run(world, place, &["land", "T-1"]).exits(0);
    let subjects = git(&["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!(subjects, "T-1: Work\nbegin\n", "{about}");
    assert_eq!(git(&["status", "--porcelain"]), "?? untracked\n", "{about}");
    assert_eq!(git(&["ls-tree", "--name-only", "main"]), ".fairway.toml\n.gitignore\nadded\nedited\nkept\n", "{about}");
    assert_eq!(fs::read_to_string(place.join("edited")).unwrap(), "new\n", "{about}");
    assert_eq!(fs::read_to_string(place.join("untracked")).unwrap(), "mine\n", "{about}");
    // The lane has ended, unless its worktree was half removed: then all that it held is on the base.
    assert_eq!(git(&["for-each-ref", "refs/fairway"]), "", "{about}");
    assert_eq!(git(&["for-each-ref", "--format=%(refname)", "refs/heads"]), "refs/heads/main\n", "{about}");
    assert!(!place.join(".fairway/worktrees/ui").exists(), "{about}");
    assert_eq!(git(&["worktree", "list"]).lines().filter(|line| line.contains("worktrees/ui")).count(), 0, "{about}");
    assert_eq!(read(place, "SELECT status FROM lanes"), "closed", "{about}");
    assert_eq!(read(place, "SELECT status FROM tasks"), "done", "{about}");
    let landed = read(place, "SELECT landed_commit FROM tasks");
    assert_eq!(landed, git(&["rev-parse", "main"]).trim(), "{about}");
    let open = read(place, "SELECT CAST(count(*) AS TEXT) FROM landings WHERE ended_at IS NULL");
    assert_eq!(open, "0", "{about}");
    let events = read(place, "SELECT CAST(count(*) AS TEXT) FROM events WHERE kind = 'task.landed'");
    assert_eq!(events, "1", "{about}");
    invariants::check(&place.join(".fairway/fairway.db"));
}

fn killed_everywhere(world: &TestProject, template: &Path, reach: Reach, all: &[Point]) -> usize {
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
        let first = strace::killed_at(world, &place, reach, &in_place(world, &place, ["land", "T-1"]), point);
        killed += usize::from(first.code != Some(0));
        check(world, &place, &about);
        fs::remove_dir_all(place).unwrap();
    }
    killed
}

#[test]
fn killed_landing_is_before_or_after_and_completed_by_the_next() {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    world.real_time();
    let template = template(&world);
    for reach in [Reach::Process, Reach::Tree] {
        let place = strace::copy(&template, &place(&world));
        let all = strace::points(&world, &place, reach, &in_place(&world, &place, ["land", "T-1"]), ".fairway.toml");
        check(&world, &place, "not killed");
        fs::remove_dir_all(place).unwrap();
        let killed = killed_everywhere(&world, &template, reach, &all);
        // Some of the gits that are killed are asked again, or only tidy up.
        let least = if reach == Reach::Tree { wanted() / 4 } else { wanted() / 2 };
        assert!(killed >= least, "only {killed} of {} were killed ({reach:?})", wanted());
    }
}
