//! `kill -9` of a start at many of its calls: the next start of the task goes on, with one claim and one session.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fairway_core::os::{poll_until, process_tree};
use rusqlite::Connection;

use super::strace::{self, Reach};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, invariants};

/// The number of calls at which the start is killed.
const POINTS: usize = 24;

const START: [&str; 7] = ["start", "Fix the tax", "--json", "--", "sh", "-c", "sleep 60"];

fn in_place<'a>(world: &TestProject, place: &Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = world.fairway(words);
    command.env("HOME", place.join("home")).env("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell").current_dir(place);
    command
}

fn run(world: &TestProject, place: &Path, words: &[&str]) -> CommandOutput {
    in_place(world, place, words.iter().copied()).output().unwrap().into()
}

fn number(place: &Path, query: &str) -> i64 {
    Connection::open(place.join(".fairway/fairway.db")).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
}

/// The claimant's session run, if its claim is live.
fn claiming_run(place: &Path) -> Option<String> {
    let query = "SELECT s.run_id FROM claims c JOIN agent_sessions s ON s.id = c.session_id WHERE c.ended_at IS NULL";
    Connection::open(place.join(".fairway/fairway.db")).unwrap().query_row(query, [], |row| row.get(0)).ok()
}

#[test]
fn killed_start_is_continued_by_the_next() {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    world.real_time();
    let template = world.dir().join("template");
    fs::create_dir_all(template.join("home")).unwrap();
    world.git(&template, &["init", "--quiet", "--initial-branch=main"]);
    run(&world, &template, &["init", "--quiet"]).exits(0);
    fs::write(template.join(".gitignore"), "home\ntrace\n").unwrap();
    world.git(&template, &["add", "."]);
    world.git(&template, &["commit", "--quiet", "--message=begin"]);

    let place = strace::copy(&template, &world.dir().join("all"));
    let all = strace::points(&world, &place, Reach::Process, &in_place(&world, &place, START), ".fairway.toml");
    run(&world, &place, &["session", "stop", "--all"]).exits(0);
    let mut killed = 0;
    for number_of in 0..POINTS {
        let point = &all[number_of * all.len() / POINTS];
        let about = format!("killed at {point:?}");
        let place = strace::copy(&template, &world.dir().join(format!("point-{number_of}")));
        let first = strace::killed_at(&world, &place, Reach::Process, &in_place(&world, &place, START), point);
        killed += i32::from(first.code.is_none());
        invariants::check(&place.join(".fairway/fairway.db"));
        // Processes of the killed start may still be at work.
        let settled = poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(100), || {
            let next = run(&world, &place, &START);
            let runs = claiming_run(&place)
                .is_some_and(|run| !process_tree::with_env_entry(&format!("FAIRWAY_RUN_ID={run}")).unwrap().is_empty());
            match next.code {
                Some(0) => Some(runs),
                // The killed one came so far that its program runs.
                Some(4) if next.error()["code"] == "already_claimed" && runs => Some(true),
                Some(4 | 7) => None,
                _ => panic!("{about}: {next:?}"),
            }
        });
        assert_eq!(settled, Some(true), "{about}: {:?}", run(&world, &place, &START));
        assert_eq!(number(&place, "SELECT count(*) FROM tasks"), 1, "{about}");
        assert_eq!(number(&place, "SELECT count(*) FROM claims WHERE ended_at IS NULL"), 1, "{about}");
        assert_eq!(number(&place, "SELECT count(*) FROM lanes"), 1, "{about}");
        let worktrees = world.git(&place, &["worktree", "list"]);
        assert_eq!(worktrees.lines().count(), 2, "{about}: {worktrees}");
        run(&world, &place, &["session", "reconcile"]).exits(0);
        run(&world, &place, &["session", "stop", "--all"]).exits(0);
        let left = process_tree::with_env_entry(&format!("FAIRWAY_ROOT={}", place.display())).unwrap();
        assert!(left.is_empty(), "{about}: {left:?}");
        invariants::check(&place.join(".fairway/fairway.db"));
        fs::remove_dir_all(place).unwrap();
    }
    assert!(killed >= 20, "only {killed} of {POINTS} were killed");
}
