//! Random histories of lanes against a model: branches come, go and are renamed, commits are amended and dropped, work changes
//! hands. Every command must speak of the same commit, and only that one lands.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::sample::select;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

use super::land::{NO_GATES, lane_dir, project, status};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, soak};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Commit,
    Switch,
    Detach,
    Rename,
    DeleteBranch,
    Amend,
    Reset,
    Rebase,
    BaseMoves,
    Draft,
    TidyUp,
    Sync,
    ShareBranch,
    Submit,
    Resume,
    HandOver,
    HandOverAndMove,
    Land,
    Done,
}

const STEPS: [Step; 27] = {
    use Step::{
        Amend, BaseMoves, Commit, DeleteBranch, Detach, Done, Draft, HandOver, HandOverAndMove, Land, Rebase, Rename,
        Reset, Resume, ShareBranch, Submit, Switch, Sync, TidyUp,
    };
    [
        Commit, Commit, Commit, Commit, Switch, Switch, Detach, Rename, DeleteBranch, Amend, Reset, Rebase, BaseMoves,
        BaseMoves, Draft, TidyUp, TidyUp, Sync, ShareBranch, Submit, Submit, Submit, Resume, HandOver, HandOverAndMove,
        Land, Done,
    ]
};

/// A task with its two lanes, and what the model knows of it.
struct History {
    world: TestProject,
    number: usize,
    files: usize,
    task: String,
    /// The lane that the task is in, and the lane and session of its claimant.
    lane: String,
    claimant: String,
    /// What was submitted: a commit, or nothing that the base lacks. `None` while the task is worked on.
    #[expect(clippy::option_option, reason = "a submission without a commit is none without a submission")]
    submitted: Option<Option<String>>,
    /// The newest submission, when the task is worked on again.
    earlier: Option<String>,
}

impl History {
    fn new(style: &'static str) -> Self {
        let world = project(&format!("{NO_GATES}[land]\nstyle = \"{style}\"\n"));
        let (task, lane, claimant) = Default::default();
        let mut new = Self { world, number: 0, files: 0, task, lane, claimant, submitted: None, earlier: None };
        new.begin();
        new
    }

    /// Two new lanes, each with a session, and a new task that the first one claims.
    fn begin(&mut self) {
        self.number += 1;
        let number = self.number;
        for side in ["a", "b"] {
            let lane = format!("{side}{number}");
            self.world.run(["lane", "add", &lane, "--create-worktree"]).exits(0);
            self.world.run(["session", "upsert", "--id", &lane, "--role", "dev", "--lane", &lane]).exits(0);
        }
        self.task = format!("T-{number}");
        self.world.run(["task", "add", &self.task, "t"]).exits(0);
        self.lane = format!("a{number}");
        self.claimant.clone_from(&self.lane);
        self.act(&["claim", &self.task.clone()]).exits(0);
        (self.submitted, self.earlier) = (None, None);
    }

    fn dir(&self) -> PathBuf {
        lane_dir(&self.world, &self.lane)
    }

    fn act(&self, words: &[&str]) -> CommandOutput {
        self.world.run(["--session", &self.claimant].iter().chain(words))
    }

    fn git(&self, dir: &Path, words: &[&str]) -> (bool, String) {
        let done = self.world.command("git").args(words).current_dir(dir).output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    fn head(&self, lane: &str) -> String {
        self.git(&lane_dir(&self.world, lane), &["rev-parse", "HEAD"]).1
    }

    fn contains(&self, whole: &str, part: &str) -> bool {
        self.git(&self.world.root(), &["merge-base", "--is-ancestor", part, whole]).0
    }

    fn is_new(&self, commit: &str) -> bool {
        !self.contains("main", commit)
    }

    fn files_of(&self, commit: &str) -> Vec<String> {
        self.git(&self.world.root(), &["ls-tree", "-r", "--name-only", commit]).1.lines().map(str::to_owned).collect()
    }

    fn main_has(&self, commit: &str) -> bool {
        let of_main = self.files_of("main");
        self.files_of(commit).iter().all(|file| of_main.contains(file))
    }

    fn is_tidy(&self) -> bool {
        self.git(&self.dir(), &["status", "--porcelain"]).1.is_empty()
    }

    /// The commit of which everything must speak, and whether it can land.
    fn expected(&self) -> (Option<String>, bool) {
        let head = self.head(&self.lane);
        let commit = self.submitted.clone().unwrap_or_else(|| Some(head.clone()));
        // What was sent back and has gone on is submitted again first.
        let is_outdated =
            self.submitted.is_none() && self.earlier.as_ref().is_some_and(|old| !self.contains(old, &head));
        let has_work = commit.as_ref().is_some_and(|one| self.submitted.is_some() || self.is_new(one));
        let can_land = self.is_tidy() && has_work && !is_outdated;
        (commit, can_land)
    }

    /// A file that no other commit has.
    fn write(&mut self, dir: &Path) {
        self.files += 1;
        fs::write(dir.join(format!("file-{}", self.files)), "x\n").unwrap();
    }

    fn commit(&mut self, dir: &Path, more: &[&str]) {
        self.write(dir);
        self.git(dir, &["add", "--all"]);
        let words = ["commit", "--quiet", "--message=work"].iter().chain(more).copied().collect::<Vec<_>>();
        assert!(self.git(dir, &words).0);
    }

    /// Takes a step, and says what the answer must have been where a command of Fairway was called.
    fn take(&mut self, step: Step) {
        let (dir, task) = (self.dir(), self.task.clone());
        let other = if self.claimant.starts_with('a') { "b" } else { "a" };
        let other = format!("{other}{}", self.number);
        let is_worked_on = self.submitted.is_none();
        match step {
            Step::Commit => self.commit(&dir, &[]),
            Step::Switch => {
                self.files += 1;
                self.git(&dir, &["switch", "--quiet", "--create", &format!("own-{}", self.files)]);
            }
            Step::Detach => drop(self.git(&dir, &["checkout", "--quiet", "--detach"])),
            Step::Rename => {
                self.files += 1;
                self.git(&dir, &["branch", "--move", &format!("renamed-{}", self.files)]);
            }
            // Git keeps the one that is checked out.
            Step::DeleteBranch => drop(self.git(&dir, &["branch", "-D", &format!("lane/{}", self.lane)])),
            Step::Amend if self.is_new(&self.head(&self.lane)) => self.commit(&dir, &["--amend"]),
            Step::Reset if self.is_new(&self.head(&self.lane)) => {
                drop(self.git(&dir, &["reset", "--quiet", "--hard", "HEAD~1"]));
            }
            Step::Rebase if self.is_tidy() => drop(self.git(&dir, &["rebase", "--quiet", "main"])),
            Step::Amend | Step::Reset | Step::Rebase => {}
            Step::BaseMoves => self.commit(&self.world.root(), &[]),
            Step::Draft => self.write(&dir),
            Step::TidyUp => drop(self.git(&dir, &["clean", "--quiet", "--force"])),
            Step::Sync => {
                let synced = self.act(&["lane", "sync", &self.lane.clone(), "--force"]);
                assert!(matches!(synced.code, Some(0 | 5)), "{synced:?}");
            }
            Step::ShareBranch => {
                let branch = format!("lane/{}", self.lane);
                self.world.run(["lane", "edit", &other, "--branch", &branch]).exits(0);
            }
            Step::Submit => self.submit(),
            Step::Resume if !is_worked_on => {
                self.act(&["task", "resume", &task]).exits(0);
                self.earlier = self.submitted.take().flatten();
            }
            Step::HandOver | Step::HandOverAndMove if is_worked_on => {
                self.hand_over(&other, step == Step::HandOverAndMove);
            }
            Step::Resume | Step::HandOver | Step::HandOverAndMove => {}
            Step::Land => self.land(),
            Step::Done => self.done(),
        }
    }

    /// What `submit` and `done` must fix: the commit and its lane, or `None` for a refusal.
    fn to_hand_in(&self) -> Option<(Option<String>, String)> {
        let own = self.claimant.clone();
        let of_task = self.head(&self.lane);
        let moves = own != self.lane && self.is_new(&of_task) && self.is_new(&self.head(&own));
        let lane = if moves { own } else { self.lane.clone() };
        let head = self.head(&lane);
        if moves && !self.contains(&head, &of_task) {
            return None;
        }
        let is_lost = |earlier: &String| self.is_new(earlier) && !self.contains(&head, earlier);
        let earlier = self.submitted.clone().flatten().or_else(|| self.earlier.clone());
        if !self.is_new(&head) && earlier.as_ref().is_some_and(is_lost) {
            return None;
        }
        Some((Some(head.clone()).filter(|_| self.is_new(&head)), lane))
    }

    fn submit(&mut self) {
        let wanted = self.to_hand_in();
        let run = self.act(&["task", "submit", &self.task, "--json"]);
        let Some((commit, lane)) = wanted else {
            run.refuses(5, "work_not_here");
            return;
        };
        run.exits(0);
        self.lane = lane;
        self.submitted = Some(commit);
    }

    fn done(&mut self) {
        let wanted = match &self.submitted {
            Some(Some(commit)) => Some((Some(commit.clone()), self.lane.clone())),
            _ => self.to_hand_in(),
        };
        let run = self.act(&["done", &self.task, "--json"]);
        let Some((commit, _)) = wanted else {
            run.refuses(5, "work_not_here");
            return;
        };
        run.exits(0);
        let shown = self.world.json(["task", "show", &self.task]);
        assert_eq!(shown["commit"], commit.clone().map_or(Value::Null, Value::from));
        if let Some(commit) = commit {
            let tidy = self.is_tidy();
            let landed = self.world.run(["land", &self.task]);
            assert_eq!((landed.code == Some(0), self.main_has(&commit)), (tidy, tidy), "{landed:?}");
        }
        self.begin();
    }

    fn hand_over(&mut self, other: &str, moves: bool) {
        let (from, to) = (self.head(&self.lane), self.head(other));
        self.act(&["handoff", "create", &self.task, "--to-lane", other, "--summary", "go on"]).exits(0);
        let offers = self.world.json(["handoff", "list", "--task", &self.task]);
        let id = offers.as_array().unwrap().last().unwrap()["id"].to_string();
        let words = ["--session", other, "handoff", "accept", &id];
        let accepted = self.world.run(words.iter().chain(moves.then_some(&"--move")));
        if accepted.code != Some(0) {
            // A draft on either side, or the other lane has gone elsewhere: nothing has changed.
            assert_eq!((self.head(&self.lane), self.head(other)), (from, to), "{accepted:?}");
            self.act(&["handoff", "withdraw", &id]).exits(0);
            return;
        }
        other.clone_into(&mut self.claimant);
        let lane = self.world.json(["task", "show", &self.task])["lane"].as_str().unwrap().to_owned();
        assert!(!moves || lane == other && self.contains(&self.head(other), &from), "{accepted:?}");
        assert!(moves || lane == self.lane || !self.is_new(&from), "{accepted:?}");
        self.lane = lane;
    }

    fn land(&mut self) {
        let (commit, can_land) = self.expected();
        let before = self.git(&self.world.root(), &["rev-parse", "main"]).1;
        let run = self.world.run(["land", &self.task]);
        if !can_land {
            assert_eq!(run.code, Some(5), "{run:?}");
            assert_eq!(self.git(&self.world.root(), &["rev-parse", "main"]).1, before, "{run:?}");
            assert_ne!(status(&self.world, &self.task), "done");
            return;
        }
        run.exits(0);
        assert!(self.main_has(&commit.unwrap()));
        assert_eq!(status(&self.world, &self.task), "done");
        self.begin();
    }

    /// Every command that judges names the expected commit, and `merge-ready` answers as `land` would.
    fn check(&self) {
        let (commit, can_land) = self.expected();
        let judged = self.world.run(["merge-ready", &self.task, "--json"]);
        assert_eq!(judged.code == Some(0), can_land, "{judged:?}");
        let report = judged.json();
        let plan = self.world.run(["land", &self.task, "--dry-run", "--json"]);
        assert_eq!(plan.code == Some(0), can_land, "{plan:?}");
        let Some(commit) = commit else { return };
        assert_eq!(report["judged"]["commit"], commit, "{report:#}");
        if can_land {
            assert_eq!(plan.json()["landings"][0]["commit"], commit, "{plan:?}");
        }
        let card = self.world.json(["review", "next", "--task", &self.task]);
        assert_eq!(card["card"]["changes"]["commit"], commit, "{card:#}");
        let reviewed = self.world.json(["review", "record", &self.task, "--verdict", "approve"]);
        assert_eq!(reviewed["commit"], commit, "{reviewed:#}");
        if self.submitted.is_none() && self.is_tidy() {
            let run = self.act(&["evidence", "run", &self.task, "--json", "--", "true"]);
            assert_eq!(run.exits(0).json()["commit"], commit);
        }
    }
}

#[test]
fn every_command_speaks_of_the_commit_that_lands() {
    let histories = soak::count("FAIRWAY_LANE_HISTORIES", 200, 3);
    let steps = proptest::collection::vec(select(&STEPS[..]), 24);
    for number in 0..histories {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let steps = steps.new_tree(&mut TestRunner::new_with_rng(Config::default(), rng)).unwrap().current();
        let style = ["merge", "squash", "rebase"][number % 3];
        let mut history = History::new(style);
        for (place, step) in steps.iter().enumerate() {
            println!("history {number} ({style}), step {place}: {step:?}");
            history.take(*step);
            history.check();
        }
    }
}
