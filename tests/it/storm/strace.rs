//! Killing a process at a call of our choice: `strace` counts the calls and sends the signal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};

/// Every call that names a file or has a descriptor.
const CALLS: &str = "trace=%file,%desc";

/// The n-th call of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub call: String,
    pub number: usize,
}

/// The processes that are traced and killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The command's own process: what it has started goes on when it dies.
    Process,
    /// Its threads and children too, each counted by itself.
    Tree,
}

/// Whether processes can be traced here.
pub fn is_possible() -> bool {
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).status().is_ok_and(|status| status.success());
    require::met(works, "strace is not installed (tests/run.sh installs it) or ptrace is not permitted")
}

fn strace(world: &TestProject, place: &Path, reach: Reach, words: &[String], command: &Command) -> Command {
    let mut traced = world.command("strace");
    traced
        .args((reach == Reach::Tree).then_some("-f"))
        .arg("-qq")
        .args(words)
        .arg("--")
        .arg(command.get_program())
        .args(command.get_args());
    traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(place);
    traced
}

/// All points of a command, in order, from the first call that names `begin` on: what the loader does is not ours.
pub fn points(world: &TestProject, place: &Path, reach: Reach, command: &Command, begin: &str) -> Vec<Point> {
    let run = CommandOutput::from(listing(world, place, reach, command).output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    listed(place, begin)
}

/// A command whose calls are listed in its place, for [`listed`]. Who starts it may give it a stdin.
pub fn listing(world: &TestProject, place: &Path, reach: Reach, command: &Command) -> Command {
    let log = place.join("trace");
    strace(world, place, reach, &["-o".into(), log.display().to_string(), "-e".into(), CALLS.into()], command)
}

/// The points that were listed, from the first call that names `begin` on.
pub fn listed(place: &Path, begin: &str) -> Vec<Point> {
    let (mut seen, mut points, mut begun) = (BTreeMap::<String, usize>::new(), Vec::new(), false);
    for line in fs::read_to_string(place.join("trace")).unwrap().lines() {
        // `name(arguments) = result`, and before it the pid when there may be several.
        let call = line.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start().split_once('(');
        let Some((call, arguments)) =
            call.filter(|(call, _)| call.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        else {
            continue;
        };
        let number = seen.entry(call.to_owned()).or_default();
        *number += 1;
        begun |= arguments.contains(begin);
        if begun {
            points.push(Point { call: call.to_owned(), number: *number });
        }
    }
    assert!(!points.is_empty(), "no call names {begin}");
    points
}

/// Runs a command and kills it as it is about to make this call.
pub fn killed_at(world: &TestProject, place: &Path, reach: Reach, command: &Command, point: &Point) -> CommandOutput {
    killing(world, place, reach, command, point).output().unwrap().into()
}

/// A command that is killed as it is about to make this call. Who starts it may give it a stdin.
pub fn killing(world: &TestProject, place: &Path, reach: Reach, command: &Command, point: &Point) -> Command {
    let inject = format!("inject={}:signal=SIGKILL:when={}", point.call, point.number);
    let words = ["-o".into(), "/dev/null".into(), "-e".into(), format!("trace={}", point.call), "-e".into(), inject];
    strace(world, place, reach, &words, command)
}

/// A copy of a folder, files and folders only.
pub fn copy(from: &Path, to: &Path) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
    to.to_owned()
}
