//! Public accidents of "green and green is red", rebuilt in `tests/data/accidents`: nothing is said of a cause that no run shows,
//! and the told way ends landed and green. `FAIRWAY_ACCIDENTS=all` tries each one in every style and setting, a number N one
//! in N of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::land::NO_GATES;
use crate::common::{TestProject, fixtures};

const NAMES: [&str; 6] =
    ["enum-match", "lint-rule", "locale-parity", "lockfile-duplicate", "migration-number", "rename-new-caller"];
const STYLES: [&str; 3] = ["merge", "squash", "rebase"];

/// Where the check is, and how many trees are checked.
#[derive(Debug, Clone, Copy)]
struct Setting {
    style: &'static str,
    /// Whether `[land]` has the check, and not each task.
    in_config: bool,
    batch: usize,
    width: usize,
    /// Whether a harmless change is submitted first.
    is_behind: bool,
    /// Whether the sessions that did the work still run.
    has_sessions: bool,
}

struct Accident {
    name: &'static str,
    world: TestProject,
    check: String,
    setting: Setting,
    /// The commit from which the branches went.
    start: String,
    /// The lane, and branch, of each task.
    lanes: BTreeMap<String, String>,
    /// The branches as they were submitted first.
    tips: BTreeMap<String, String>,
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/accidents").join(name)
}

impl Accident {
    fn new(name: &'static str, setting: Setting) -> Self {
        let world = TestProject::uninitialized();
        let root = world.root();
        let made = world.command("sh").arg(data(name).join("make.sh")).arg(&root).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        world.run(["init", "--quiet"]).exits(0);
        let meta: Value = serde_json::from_slice(&fs::read(data(name).join("meta.json")).unwrap()).unwrap();
        let check = meta["check"].as_str().unwrap().to_owned();
        let Setting { style, in_config, batch, width, .. } = setting;
        let checks = if in_config { format!("checks = [\"{check}\"]\n") } else { String::new() };
        let land = format!("[land]\nstyle = \"{style}\"\nbatch = {batch}\nwidth = {width}\nretries = 0\n{checks}");
        let file = root.join(".fairway.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}{NO_GATES}{land}")).unwrap();
        world.run(["trust"]).exits(0);
        let start = world.git(&root, &["rev-parse", "main"]).trim().to_owned();
        let (lanes, tips) = (BTreeMap::new(), BTreeMap::new());
        let mut accident = Self { name, world, check, setting, start, lanes, tips };
        let mut branches: Vec<String> = Vec::new();
        if setting.is_behind {
            accident.world.git(&root, &["branch", "z", "main"]);
            branches.push("z".to_owned());
        }
        branches.extend(meta["branches"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()));
        for branch in branches {
            accident.submit_first(&branch);
        }
        accident
    }

    fn dir(&self, lane: &str) -> PathBuf {
        self.world.dir().join("lanes").join(lane)
    }

    fn git(&self, dir: &Path, args: &[&str]) -> String {
        self.world.git(dir, args).trim().to_owned()
    }

    fn submit_first(&mut self, branch: &str) {
        let (root, dir) = (self.world.root(), self.dir(branch));
        self.git(&root, &["worktree", "add", "--quiet", dir.to_str().unwrap(), branch]);
        if branch == "z" {
            fs::write(dir.join("z.txt"), "z\n").unwrap();
            self.git(&dir, &["add", "--all"]);
            self.git(&dir, &["commit", "--quiet", "--message=harmless"]);
        }
        self.world.run(["lane", "add", branch, "--branch", branch, "--worktree", dir.to_str().unwrap()]).exits(0);
        let check = format!("tests={}", self.check);
        let with = if self.setting.in_config { Vec::new() } else { vec!["--check", &check] };
        let words = [&["task", "add", "Work", "--lane", branch][..], &with].concat();
        let task = self.world.json(words)["id"].as_str().unwrap().to_owned();
        self.world.run(["claim", &task]).exits(0);
        if self.setting.has_sessions {
            fixtures::add_session(&self.world, &format!("s-{branch}"), "worker", Some(branch));
        }
        self.tips.insert(branch.to_owned(), self.git(&dir, &["rev-parse", "HEAD"]));
        self.lanes.insert(task.clone(), branch.to_owned());
        self.submit(&task);
    }

    fn submit(&self, task: &str) {
        let tip = self.git(&self.dir(&self.lanes[task]), &["rev-parse", "HEAD"]);
        self.world.run(["task", "submit", task, "--commit", &tip]).exits(0);
    }

    fn is_green(&self, dir: &Path) -> bool {
        self.world.command("sh").args(["-c", &self.check]).current_dir(dir).output().unwrap().status.success()
    }

    /// Whether the check passes on a commit with these branches merged into it.
    fn passes(&self, commit: &str, with: &[&str]) -> bool {
        let dir = self.world.dir().join("judge");
        if dir.exists() {
            self.git(&dir, &["checkout", "--quiet", "--force", "--detach", commit]);
        } else {
            let path = dir.to_str().unwrap();
            self.git(&self.world.root(), &["worktree", "add", "--quiet", "--detach", path, commit]);
        }
        for branch in with {
            self.git(&dir, &["merge", "--quiet", "--no-edit", &self.tips[*branch]]);
        }
        let is_green = self.is_green(&dir);
        self.git(&dir, &["reset", "--quiet", "--hard"]);
        is_green
    }

    /// Every statement about the cause, against a run of its own.
    fn check_statements(&self, task: &str, text: &str) {
        let own = &self.lanes[task];
        let base = text.split_once("merged tree of main at ").unwrap().1.split_once(' ').unwrap().0;
        let runs = text.lines().find_map(|line| line.strip_prefix("What was run: ")).unwrap_or_default();
        let branches = |names: &str| names.split(", ").map(|task| &*self.lanes[task]).collect::<Vec<&str>>();
        for run in runs.trim_end_matches('.').split("; ").filter(|run| !run.is_empty()) {
            let (what, result) = run.rsplit_once(": ").unwrap();
            let passes = match what.strip_suffix(" without it") {
                Some("main") => self.passes(base, &[]),
                Some(others) => self.passes(&self.start, &branches(others)),
                None if what == "alone" => self.passes(&self.tips[own], &[]),
                None => self.passes(&self.tips[own], &branches(what.strip_prefix("with ").unwrap())),
            };
            assert_eq!(result, if passes { "passes" } else { "fails" }, "{} {:?}: {run}", self.name, self.setting);
        }
        for line in text.lines().filter(|line| line.contains(" is: git diff ")) {
            let (other, command) = line.split_once(" is: git diff ").unwrap();
            let commits: Vec<&str> = command.split(' ').collect();
            let changed = |from: &str, to: &str| {
                let names = self.git(&self.world.root(), &["diff", "--name-only", from, to]);
                names.lines().map(str::to_owned).collect::<BTreeSet<_>>()
            };
            let branch = &self.lanes[other];
            assert_eq!(changed(commits[0], commits[1]), changed(&self.start, &self.tips[branch]), "{line}");
        }
    }

    /// The newest message for the lane or the session of a task. It has arrived once.
    fn message(&self, task: &str, landing: &Value) -> String {
        let of = format!(
            "FROM messages WHERE source = 'land' AND content LIKE '{task} was sent back%' AND metadata LIKE \
             '%\"landing\":{landing},%'"
        );
        assert_eq!(self.world.value(&format!("SELECT count(*) {of}")), "1", "{task}");
        self.world.value(&format!("SELECT content {of}"))
    }

    /// Does what a message tells, then mends or resolves as the author of the accident did.
    fn follow(&self, task: &str, text: &str) {
        let dir = self.dir(&self.lanes[task]);
        let (_, command) = text.lines().last().unwrap().strip_prefix("Next, ").unwrap().split_once(": ").unwrap();
        let run = |script: &str, base: &str| {
            let mut shell: Command = self.world.command("sh");
            let done = shell.arg(data(self.name).join(script)).arg(base).current_dir(&dir).output().unwrap();
            assert!(done.status.success(), "{} {script}: {done:?}", self.name);
        };
        if let Some(words) = command.strip_prefix("fairway ") {
            // The author is the session, if it still runs.
            let mut author = self.world.fairway(shell_words::split(words).unwrap());
            if self.setting.has_sessions {
                author.env("FAIRWAY_SESSION_ID", format!("s-{}", self.lanes[task]));
            }
            let done = author.output().unwrap();
            assert!(done.status.success(), "{text}: {done:?}");
            assert!(!self.is_green(&dir), "{}: the lane has no failing tree", self.name);
            run("mend.sh", "main");
        } else {
            let words = shell_words::split(command).unwrap();
            let done = self.world.command(&words[0]).args(&words[1..]).output().unwrap();
            assert!(!done.status.success(), "{command}: {done:?}");
            let verb = words[words.len() - 2].clone();
            self.git(&dir, &[&verb, "--abort"]);
            run("resolve.sh", "main");
            if verb == "rebase" {
                self.git(&dir, &["reset", "--quiet", "--soft", "main"]);
                self.git(&dir, &["commit", "--quiet", "--message=resolved"]);
            }
            if !self.is_green(&dir) {
                run("mend.sh", "main");
            }
        }
        assert!(self.is_green(&dir), "{}: {text}", self.name);
        self.submit(task);
    }

    fn status(&self, task: &str) -> String {
        super::land::status(&self.world, task)
    }

    /// Lands all, and each one that comes back again after its author did what was told. Returns the messages.
    fn land(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for round in 0..3 {
            let answer = self.world.run(["land", "--all", "--json"]).json();
            assert!(self.passes("main", &[]), "{} {:?}: a red base", self.name, self.setting);
            let mut back = Vec::new();
            for landing in answer["landings"].as_array().unwrap() {
                let task = landing["tasks"][0].as_str().unwrap();
                match landing["state"].as_str().unwrap() {
                    "landed" => assert_eq!(self.status(task), "done"),
                    "sent_back" => back.push((task.to_owned(), self.message(task, &landing["id"]))),
                    other => panic!("{} {:?}: {other}: {landing:#}", self.name, self.setting),
                }
            }
            for (task, text) in &back {
                if text.contains(" fails the check ") && round == 0 {
                    self.check_statements(task, text);
                }
            }
            // The way that was told holds until another one of them lands.
            for (task, text) in back.iter().take(1) {
                self.follow(task, text);
            }
            texts.extend(back.iter().map(|(_, text)| text.clone()));
            if back.len() > 1 {
                for (task, _) in back.iter().skip(1) {
                    self.submit(task);
                }
            }
            if back.is_empty() {
                break;
            }
        }
        for task in self.lanes.keys() {
            assert_eq!(self.status(task), "done", "{} {:?}: {texts:#?}", self.name, self.setting);
        }
        texts
    }
}

/// The settings to try an accident in: its own share of them, or all.
fn settings(place: usize) -> Vec<Setting> {
    let mut all = Vec::new();
    for style in STYLES {
        for in_config in [false, true] {
            for (batch, width) in [(4, 1), (1, 1), (4, 2)] {
                for is_behind in [true, false] {
                    for has_sessions in [false, true] {
                        all.push(Setting { style, in_config, batch, width, is_behind, has_sessions });
                    }
                }
            }
        }
    }
    if std::env::var("FAIRWAY_ACCIDENTS").is_ok_and(|value| value == "all") {
        return all;
    }
    if let Some(share) = std::env::var("FAIRWAY_ACCIDENTS").ok().and_then(|share| share.parse::<usize>().ok()) {
        return all.into_iter().skip(place).step_by(share).collect();
    }
    // All styles, sizes and kinds of checks between the six.
    let (style, (batch, width)) = (STYLES[place % 3], [(4, 1), (4, 2), (1, 1)][(place + place / 3) % 3]);
    let (in_config, has_sessions) = (place % 2 == 1, place / 3 == 0);
    vec![Setting { style, in_config, batch, width, is_behind: place != 2, has_sessions }]
}

fn try_out(name: &'static str) {
    let place = NAMES.iter().position(|one| *one == name).unwrap();
    for setting in settings(place) {
        let accident = Accident::new(name, setting);
        let texts = accident.land();
        let (own, other) = (task_of(&accident, "b"), task_of(&accident, "a"));
        let Some(of_pair) = texts.iter().find(|text| text.contains(" fails the check '")) else {
            // The text conflicted first.
            assert!(data(name).join("resolve.sh").exists(), "{name} {setting:?}: {texts:#?}");
            continue;
        };
        let (back, landed) = if of_pair.starts_with(&own) { (&own, &other) } else { (&other, &own) };
        assert!(of_pair.starts_with(back), "{of_pair}");
        let runs = format!("alone: passes; with {landed}: fails; {landed} without it: passes.");
        assert!(of_pair.contains(&runs), "{name} {setting:?}: {of_pair}");
        assert!(!of_pair.contains("land/worktree"), "{name} {setting:?}: {of_pair}");
        assert!(!of_pair.contains(" of T-"), "the check has the name of another task: {of_pair}");
        let z = accident.lanes.iter().find(|(_, lane)| *lane == "z").map(|(task, _)| task);
        for text in &texts {
            assert!(z.is_none_or(|z| !text.contains(&format!("with {z}"))), "{name} {setting:?}: {text}");
        }
    }
}

fn task_of(accident: &Accident, branch: &str) -> String {
    accident.lanes.iter().find(|(_, lane)| *lane == branch).unwrap().0.clone()
}

#[test]
fn new_variant_and_exhaustive_match_are_told_as_what_they_are() {
    try_out("enum-match");
}

#[test]
fn new_rule_and_new_violation_are_told_as_what_they_are() {
    try_out("lint-rule");
}

#[test]
fn new_language_and_new_texts_are_told_as_what_they_are() {
    try_out("locale-parity");
}

#[test]
fn doubled_entries_of_a_lock_file_are_told_as_what_they_are() {
    try_out("lockfile-duplicate");
}

#[test]
fn doubled_migration_numbers_are_told_as_what_they_are() {
    try_out("migration-number");
}

#[test]
fn renamed_function_and_new_caller_are_told_as_what_they_are() {
    try_out("rename-new-caller");
}
