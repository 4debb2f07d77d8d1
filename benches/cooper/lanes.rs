//! Scripted workers in real lanes: each applies its feature in small steps, and after each step the hook of a tool call runs, as
//! an agent's would. Finished features are committed, and all of them land.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::features::{Base, Feature, Tree};

/// How the workers learn of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// They do not.
    Alone,
    /// A worker that would write to a file that another one has changed stops.
    FileNames,
    /// A worker that the hook tells of a conflict with another one at work stops.
    Hook,
}

/// The result of the workers of one task.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The places of the features that landed.
    pub landed: Vec<usize>,
    /// Those that were sent back.
    pub sent_back: Vec<usize>,
    /// Those that were stopped, each with the place of the other one and the step.
    pub stopped: Vec<(usize, usize, usize)>,
    /// The lines that were written and have to be done again.
    pub reworked: usize,
    /// How long each tool call waited for its hook.
    pub calls: Vec<Duration>,
}

/// A project with a lane for each feature.
struct Workshop<'a> {
    home: TempDir,
    fairway: &'a str,
    /// The files of each lane.
    written: Vec<Tree>,
}

impl Workshop<'_> {
    fn root(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn lane(&self, place: usize) -> PathBuf {
        self.root().join(format!(".fairway/worktrees/w{place}"))
    }

    fn command(&self, program: &str, dir: &Path) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn run(&self, program: &str, dir: &Path, args: &[&str]) {
        let mut command = self.command(program, dir);
        assert!(command.args(args).status().expect("a program").success(), "{program} {args:?}");
    }

    /// Writes a worker's next step.
    fn write(&mut self, place: usize, tree: Tree) {
        let dir = self.lane(place);
        for path in self.written[place].keys().filter(|path| !tree.contains_key(*path)) {
            fs::remove_file(dir.join(path)).expect("a file");
        }
        write(&dir, tree.iter().filter(|(path, text)| self.written[place].get(*path) != Some(*text)));
        self.written[place] = tree;
    }

    /// The hook after a tool call: what it says to the agent, and how long it took.
    fn after_tool_call(&self, place: usize) -> (String, Duration) {
        let dir = self.lane(place);
        let payload = json!({
            "session_id": format!("s{place}"), "hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": {},
            "tool_response": {}, "cwd": dir,
        });
        let mut command = self.command(self.fairway, &dir);
        command.args(["hook", "claude", "PostToolUse"]).env("FAIRWAY_SESSION_ID", format!("w{place}"));
        let start = Instant::now();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("fairway");
        child.stdin.take().expect("stdin").write_all(payload.to_string().as_bytes()).expect("the hook reads");
        let done = child.wait_with_output().expect("the hook ends");
        let took = start.elapsed();
        assert!(done.status.success());
        let said: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        (said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned(), took)
    }

    /// Commits the work of these workers, and lands it.
    fn land(&self, finished: &[usize], outcome: &mut Outcome) {
        if finished.is_empty() {
            return;
        }
        let mut args = vec!["land".to_owned(), "--json".to_owned()];
        for place in finished {
            self.run("git", &self.lane(*place), &["add", "--all"]);
            self.run("git", &self.lane(*place), &["commit", "--quiet", "--allow-empty", "--message=done"]);
            args.push(format!("lane:w{place}"));
        }
        let mut command = self.command(self.fairway, &self.root());
        let done = command.args(&args).stdout(Stdio::piped()).stderr(Stdio::null()).output().expect("fairway");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let landed: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let landed = landed.get("result").cloned().unwrap_or(landed);
        for one in landed["landings"].as_array().expect("landings") {
            let lane = one["lane"].as_str().expect("a lane").trim_start_matches('w').parse().expect("a number");
            match one["state"].as_str() {
                Some("landed" | "unchanged") => outcome.landed.push(lane),
                Some("sent_back") => outcome.sent_back.push(lane),
                other => panic!("{other:?}: {one:#}"),
            }
        }
    }
}

fn write<'a>(dir: &Path, files: impl Iterator<Item = (&'a String, &'a String)>) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
}

/// A project with the base, and a lane with a session for each feature.
fn workshop<'a>(fairway: &'a str, features: &[&Feature], base: &Base, arm: Arm) -> Workshop<'a> {
    let home = tempfile::tempdir().expect("a directory");
    let begin = features[0].after(base, 0);
    let shop = Workshop { home, fairway, written: vec![begin.clone(); features.len()] };
    let root = shop.root();
    fs::create_dir(&root).expect("a directory");
    for args in [&["init", "-q", "-b", "main"][..], &["config", "user.name", "w"], &["config", "user.email", "w@w"]] {
        shop.run("git", &root, args);
    }
    write(&root, begin.iter());
    shop.run(fairway, &root, &["init", "--quiet"]);
    let config = root.join(".fairway.toml");
    let action = if arm == Arm::Hook { "tell" } else { "off" };
    let more = format!("\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n[overlap]\naction = \"{action}\"\n");
    fs::write(&config, fs::read_to_string(&config).expect("the configuration") + &more).expect("a file");
    shop.run("git", &root, &["add", "-A", "-f", ":!.fairway"]);
    shop.run("git", &root, &["commit", "-q", "-m", "begin"]);
    for place in 0..features.len() {
        let name = format!("w{place}");
        shop.run(fairway, &root, &["lane", "add", &name, "--create-worktree", "--quiet"]);
        shop.run(fairway, &root, &["session", "upsert", "--id", &name, "--role", "dev", "--lane", &name, "--quiet"]);
    }
    shop
}

/// Lets all workers of a task go on side by side, each with so many steps, and lands the finished features.
pub fn work(fairway: &str, features: &[&Feature], base: &Base, arm: Arm, steps: usize) -> Outcome {
    let mut shop = workshop(fairway, features, base, arm);
    let mut outcome = Outcome::default();
    let mut at_work: BTreeSet<usize> = (0..features.len()).collect();
    for step in 1..=steps {
        let lines = |place: usize| (features[place].size() * step).div_ceil(steps);
        for (place, feature) in features.iter().enumerate() {
            if !at_work.contains(&place) {
                continue;
            }
            let rival = |other: &usize| {
                let theirs = if *other < place { lines(*other) } else { features[*other].size() * (step - 1) / steps };
                let theirs = features[*other].paths_after(base, theirs);
                feature.paths_after(base, lines(place)).iter().any(|path| theirs.contains(path))
            };
            if arm == Arm::FileNames
                && let Some(other) = at_work.iter().filter(|other| **other != place).find(|other| rival(other)).copied()
            {
                // It stops before it writes there.
                at_work.remove(&place);
                outcome.reworked += (feature.size() * (step - 1)).div_ceil(steps);
                outcome.stopped.push((place, other, step));
                continue;
            }
            shop.write(place, feature.after(base, lines(place)));
            let (said, took) = shop.after_tool_call(place);
            outcome.calls.push(took);
            let told = |other: &usize| said.contains(&format!("Lane w{other} changes the same places as your lane"));
            if let Some(other) = at_work.iter().find(|other| told(other)).copied() {
                at_work.remove(&place);
                outcome.reworked += lines(place);
                outcome.stopped.push((place, other, step));
            }
        }
    }
    let finished: Vec<usize> = at_work.into_iter().collect();
    shop.land(&finished, &mut outcome);
    outcome.reworked += outcome.sent_back.iter().map(|place| features[*place].size()).sum::<usize>();
    outcome
}
