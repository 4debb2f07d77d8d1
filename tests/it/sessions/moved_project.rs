//! A project's directory that is moved while a session of it runs: the session names the old path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Sessions, eventually};
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::hooks::{VENDORS, command, denied, started};

const GUARD: &str = "\n[[guard.rules]]\nname = \"no-rm\"\ntools = [\"Bash\"]\ncommand = [\"rm\"]\naction = \"deny\"\n";

/// A project that was moved while a session ran in a lane of it.
struct Moved {
    world: Sessions,
    /// The environment of the session.
    env: Vec<(String, String)>,
}

impl Moved {
    fn new(guard: &str) -> Self {
        let world = Sessions::with_git();
        let config = world.root().join(".fairway.toml");
        fs::write(&config, fs::read_to_string(&config).unwrap() + guard).unwrap();
        world.run(["trust"]).exits(0);
        world.git(&world.root(), &["add", ".fairway.toml"]);
        world.git(&world.root(), &["commit", "--quiet", "--allow-empty", "--message=rules"]);
        world.run(["lane", "add", "ui", "--role", "r", "--create-worktree"]).exits(0);
        let file = world.dir().join("env");
        let script = format!("env >{0}.new; mv {0}.new {0}; exec sleep 300", file.display());
        world.launch(&["--lane", "ui", "--backend", "shell", "--id", "s1", "--", "sh", "-c", &script]);
        let text = eventually("the environment is written", || fs::read_to_string(&file).ok());
        let env = text.lines().filter_map(|line| line.split_once('='));
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        fs::write(world.root().join(".fairway/worktrees/ui/unsaved.txt"), "work").unwrap();
        let moved = Self { world, env };
        fs::rename(moved.before(), moved.after()).unwrap();
        moved
    }

    fn before(&self) -> PathBuf {
        self.world.root()
    }

    fn after(&self) -> PathBuf {
        self.world.dir().join("after")
    }

    /// The directory of the session, where it is now.
    fn lane(&self) -> PathBuf {
        self.after().join(".fairway/worktrees/ui")
    }

    /// A command of the session, not yet started.
    fn inside(&self, directory: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(FAIRWAY);
        let env = self.env.iter().map(|(name, value)| (name, value));
        command.args(args).env_clear().envs(env).current_dir(directory);
        command
    }

    /// A person's command.
    fn outside(&self, directory: &Path, args: &[&str]) -> CommandOutput {
        self.world.fairway(args).current_dir(directory).output().unwrap().into()
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        let _ = self.outside(&self.after(), &["session", "stop", "--all"]);
        let _ = fs::remove_dir_all(self.before());
        let _ = fs::rename(self.after(), self.before());
    }
}

#[test]
fn command_of_a_session_whose_project_was_moved_names_both_paths_and_the_way_on() {
    let moved = Moved::new("");
    let (before, after) = (moved.before().display().to_string(), moved.after().display().to_string());
    for words in [&["ready"][..], &["claim"], &["task", "add", "one"], &["inbox"], &["prime"], &["init"], &["trust"]] {
        let run: CommandOutput = moved.inside(&moved.lane(), &[words, &["--json"]].concat()).output().unwrap().into();
        let error = run.refuses(3, "no_project").error();
        let (message, hint) = (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap());
        assert!(message.contains(&before) && message.contains(&after), "{words:?}: {message}");
        assert!(hint.contains(&format!("mv {after} {before}")), "{words:?}: {hint}");
        assert!(hint.contains(&format!("fairway --root {after} session relaunch s1")), "{words:?}: {hint}");
    }
    // Elsewhere only the old path is known.
    let run: CommandOutput = moved.inside(Path::new("/"), &["ready", "--json"]).output().unwrap().into();
    let error = run.refuses(3, "no_project").error();
    assert!(error["message"].as_str().unwrap().contains(&before), "{error}");
    assert!(!moved.before().exists(), "something was made at the old path");

    // The way on, by a person.
    assert_eq!(moved.outside(&moved.after(), &["session", "list", "--quiet"]).exits(0).stdout, "s1\n");
    moved.outside(&moved.after(), &["session", "stop", "s1"]).exits(0);
    moved.outside(&moved.after(), &["lane", "repair", "ui"]).exits(0);
    moved.outside(&moved.after(), &["trust"]).exits(0);
    moved.outside(Path::new("/"), &["--root", &after, "session", "relaunch", "s1", "--", "sleep", "300"]).exits(0);
    assert_eq!(moved.outside(&moved.after(), &["session", "list", "--quiet"]).exits(0).stdout, "s1-2\n");
}

#[test]
fn hook_of_a_session_whose_project_was_moved_denies() {
    let moved = Moved::new(GUARD);
    let (before, after) = (moved.before().display().to_string(), moved.after().display().to_string());
    // Another project is no way out, nor one that is made in the place of the old one.
    let other = moved.world.dir().join("other");
    fs::create_dir(&other).unwrap();
    moved.outside(&other, &["init", "--quiet"]).exits(0);
    let denials = |directory: &Path| {
        VENDORS.map(|(vendor, moment)| {
            let mut call = command(vendor, "x", "ls");
            call["cwd"] = json!(directory);
            let hook = moved.inside(directory, &["hook", vendor, moment]);
            let run: CommandOutput = started(hook, call.to_string().as_bytes()).wait_with_output().unwrap().into();
            denied(vendor, &run)
        })
    };
    for reason in denials(&moved.lane()) {
        assert!(reason.contains(&before) && reason.contains(&after) && reason.contains("relaunch s1"), "{reason}");
    }
    for directory in [other.as_path(), Path::new("/")] {
        for reason in denials(directory) {
            assert!(reason.contains(&before), "{reason}");
        }
    }
    fs::create_dir(moved.before()).unwrap();
    denials(&moved.lane());
    fs::write(moved.before().join(".fairway.toml"), "").unwrap();
    for reason in denials(&moved.lane()) {
        assert!(reason.contains("gone"), "{reason}");
    }
}

#[test]
fn lane_of_a_moved_project_is_no_project_of_its_own_and_is_repaired_with_its_work() {
    let moved = Moved::new("");
    let added = moved.outside(&moved.lane(), &["task", "add", "from the lane", "--quiet"]).exits(0).stdout;
    assert_eq!(moved.outside(&moved.after(), &["task", "list", "--quiet"]).exits(0).stdout, added);
    assert!(!moved.lane().join(".fairway").exists(), "a store was made in the lane");
    let repaired = moved.outside(&moved.after(), &["lane", "repair", "ui"]).exits(0).stdout;
    assert!(repaired.starts_with("connected the worktree of lane ui at "), "{repaired}");
    assert!(repaired.contains(moved.lane().to_str().unwrap()), "{repaired}");
    assert_eq!(moved.world.git(&moved.lane(), &["status", "--porcelain"]), "?? unsaved.txt\n");
    let lanes = moved.outside(&moved.after(), &["lane", "list", "--json"]).exits(0).json();
    assert_eq!(lanes[0]["worktree"], moved.lane().to_str().unwrap());
    assert!(!moved.before().exists(), "something was made at the old path");
    let again = moved.outside(&moved.after(), &["lane", "repair", "ui"]).exits(0).stdout;
    assert!(again.starts_with("unchanged"), "{again}");
}
