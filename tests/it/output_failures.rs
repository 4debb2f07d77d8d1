//! Where output goes: closed pipes, full disks, closed descriptors.

use std::fs::{self, OpenOptions};
use std::process::Stdio;

use crate::common::TestProject;
use crate::common::command_table::{COMMANDS, CommandRow};
use crate::common::store_watch::StoreWatch;
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// The writing end of a pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// The world of a call of its own; `None` for help, which changes none. Behind a `--` help is a program's.
fn ready_for(furnished: &TestProject, verb: &CommandRow, more: &[&str]) -> Option<TestProject> {
    (more != ["--help"] || verb.good.contains(" -- ")).then(|| furnished.ready_for(verb))
}

/// A reader that closed the pipe has seen enough: no failure, no word.
#[test]
fn every_verb_survives_a_closed_pipe() {
    let furnished = TestProject::populated();
    let for_help = furnished.copy();
    let mut store = StoreWatch::new(for_help.store());
    for (at, verb) in COMMANDS.iter().enumerate() {
        // All are written in one place; the full disk below asks for each.
        let more = verb.variants()[at % verb.variants().len()];
        let own = ready_for(&furnished, verb, more);
        let world = own.as_ref().unwrap_or(&for_help);
        let mut command = world.fairway(verb.good.split(' '));
        let run: CommandOutput =
            command.args(more).stdout(closed_pipe()).stderr(Stdio::piped()).output().unwrap().into();
        assert_eq!(run.code, Some(0), "{} {more:?}: {run:?}", verb.path);
        assert!(!run.stderr.contains("error") && !run.stderr.contains("panicked"), "{}: {run:?}", verb.path);
        assert!(!store.has_changed(), "{}: help has changed the store", verb.path);
    }
}

/// A result that could not be written is a failure, in one sentence.
#[test]
fn every_verb_reports_a_full_disk() {
    let furnished = TestProject::populated();
    let for_help = furnished.copy();
    for (at, verb) in COMMANDS.iter().enumerate() {
        for more in verb.variants() {
            let own = ready_for(&furnished, verb, more);
            let world = own.as_ref().unwrap_or(&for_help);
            let mut command = world.fairway(verb.good.split(' '));
            let run: CommandOutput = command.args(*more).stdout(full()).stderr(Stdio::piped()).output().unwrap().into();
            assert_eq!(run.code, Some(1), "{} {more:?}: {run:?}", verb.path);
            let said = run.stderr.lines().filter(|line| line.contains("cannot write the output")).count();
            assert_eq!(said, 1, "{}: {run:?}", verb.path);
        }
        // Nobody to complain to: still the same exit. All commands end in one place.
        let Some(more) = verb.variants().first().filter(|_| at % 4 == 0) else { continue };
        let own = ready_for(&furnished, verb, more);
        let world = own.as_ref().unwrap_or(&for_help);
        let mut command = world.fairway(verb.good.split(' '));
        command.args(*more);
        assert_eq!(command.stdout(full()).stderr(full()).status().unwrap().code(), Some(1), "{}", verb.path);
    }
}

/// A remark that cannot be written is no failure, and a refusal keeps its exit.
#[test]
fn stderr_that_cannot_be_written() {
    let world = TestProject::populated();
    for stderr in [closed_pipe, full] {
        for (words, code) in [(vec!["task", "list"], 0), (vec!["task", "show", "nowhere"], 3), (vec!["tsk"], 2)] {
            let status = world.fairway(words).stdout(Stdio::null()).stderr(stderr()).status().unwrap();
            assert_eq!(status.code(), Some(code));
        }
    }
}

/// With 0, 1 and 2 closed the next file to be opened would get one of them. It must never be the store: what is printed
/// would be written over its first page.
#[test]
fn closed_descriptors_are_survived() {
    let furnished = TestProject::populated();
    for (at, verb) in COMMANDS.iter().enumerate() {
        let one = ["<&-", ">&-", "2>&-"][at % 3];
        for closed in [Some("<&- >&- 2>&-"), Some(one).filter(|_| at % 2 == 0)].into_iter().flatten() {
            let world = furnished.ready_for(verb);
            let mut command = world.command("sh");
            command.args(["-c", &format!("exec \"$@\" {closed}"), "sh", FAIRWAY]).args(verb.good.split(' '));
            let run: CommandOutput = command.output().unwrap().into();
            assert_eq!(run.code, Some(0), "{} {closed}: {run:?}", verb.path);
            let head = fs::read(world.store()).unwrap();
            assert!(head.starts_with(b"SQLite format 3\0"), "{} {closed}", verb.path);
            // The world looks at the whole store when it goes.
        }
    }
    let world = furnished.copy();
    let mut command = world.command("sh");
    command.args(["-c", "exec \"$@\" <&- >&- 2>&-", "sh", FAIRWAY, "task", "add", "C-1", "t", "--body", "-"]);
    command.status().unwrap();
    world.run(["task", "list"]).exits(0);
}

/// A reader that takes only the first line of a long answer.
#[test]
fn closed_pipe_after_one_line_ends_quietly() {
    let world = TestProject::new();
    world.real_time();
    let lines: String =
        (0..5_000).map(|n| format!("{{\"id\":\"n{n}\",\"title\":\"a title of some length\"}}\n")).collect();
    let file = world.root().join("many.jsonl");
    fs::write(&file, lines).unwrap();
    world.run(["task", "import", "many.jsonl", "--quiet"]).exits(0);
    for verb in ["task list", "task export", "events", "ready --limit 0", "task list --json"] {
        let script = format!("{FAIRWAY} {verb} 2>err | head -1 >out; exit ${{PIPESTATUS[0]}}");
        let run: CommandOutput = world.command("bash").args(["-c", &script]).output().unwrap().into();
        assert_eq!(run.code, Some(0), "{verb}");
        assert_eq!(fs::read_to_string(world.root().join("err")).unwrap(), "", "{verb}");
        assert_eq!(fs::read_to_string(world.root().join("out")).unwrap().lines().count(), 1, "{verb}");
    }
}
