//! `fairway handoff accept --move`: the commits come into the lane of the one who accepts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

/// Two lanes with a worktree and a session each. `sf` has claimed T-1, committed in the lane `from` and offers it to `qa`, the role
/// of `st` in the lane `to`.
struct Scene {
    world: TestProject,
    from: PathBuf,
    to: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let world = TestProject::with_git();
        for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            world.git(&world.root(), &["config", key, value]);
        }
        for (lane, session, role) in [("from", "sf", "dev"), ("to", "st", "qa")] {
            world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
            fixtures::add_session(&world, session, role, Some(lane));
        }
        let dir = |lane: &str| world.root().join(".fairway/worktrees").join(lane);
        let (from, to) = (dir("from"), dir("to"));
        let scene = Self { world, from, to };
        scene.offer("T-1");
        scene
    }

    /// Adds a task, which `sf` claims, commits to and offers.
    fn offer(&self, task: &str) {
        self.world.run(["task", "add", task, "t"]).exits(0);
        self.world.run(["--session", "sf", "claim", task]).exits(0);
        self.commit(&self.from, task, task);
        let create = ["--session", "sf", "handoff", "create", task, "--to", "qa", "--summary", "test it"];
        self.world.run(create).exits(0);
    }

    fn commit(&self, dir: &Path, name: &str, text: &str) {
        fs::write(dir.join(name), text).unwrap();
        self.world.git(dir, &["add", "--all"]);
        self.world.git(dir, &["commit", "--quiet", "--message", name]);
    }

    fn head(&self, dir: &Path) -> String {
        self.world.git(dir, &["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn accept(&self, more: &[&str]) -> CommandOutput {
        self.world.run(["--session", "st", "handoff", "accept", "1", "--move"].iter().chain(more))
    }

    /// The answer to the same command, with a `git` that runs `lines` around its first move of a branch.
    fn accept_with(&self, lines: &str) -> CommandOutput {
        let bin = self.world.dir().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let git = self.world.command("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
        let git = String::from_utf8(git).unwrap().trim().to_owned();
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' reset --quiet --keep '*)\n\
             [ -e {once} ] || {{ : >{once}; {lines}; }};;\nesac\nexec {git} \"$@\"\n",
            once = bin.join("once").display(),
        )
        .replace("GIT", &git);
        let _ = fs::remove_file(bin.join("once"));
        fs::write(bin.join("git"), text).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = self.world.fairway(["--session", "st", "handoff", "accept", "1", "--move", "--json"]);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).output().unwrap().into()
    }

    /// What no refusal may change: both branches with their files, and the event log.
    fn state(&self) -> (Vec<String>, String) {
        let of = |dir: &Path| self.head(dir) + &self.world.git(dir, &["status", "--porcelain"]);
        (vec![of(&self.from), of(&self.to)], self.world.run(["events", "--json"]).exits(0).stdout)
    }

    fn is_moved(&self) {
        assert_eq!(fs::read_to_string(self.to.join("T-1")).unwrap(), "T-1");
        assert_eq!(self.world.git(&self.to, &["status", "--porcelain"]), "");
        let task = self.world.json(["task", "show", "T-1"]);
        let place = (&task["lane"], &task["claim"]["claimant"], &task["claim"]["epoch"]);
        assert_eq!(place, (&"to".into(), &"st".into(), &2.into()));
        assert_eq!(self.world.json(["handoff", "list", "--task", "T-1"])[0]["status"], "accepted");
        let synced = self.world.run(["events"]).exits(0).stdout.matches("lane.synced").count();
        assert_eq!(synced, 1, "the move is recorded once");
        self.has_no_intent();
    }

    fn has_no_intent(&self) {
        self.world.advance_clock(600);
        let findings = self.world.run(["doctor", "--json"]).stdout;
        assert!(!findings.contains("unsettled"), "{findings}");
    }
}

#[test]
fn move_brings_the_commits_and_the_task_into_the_own_lane() {
    let scene = Scene::new();
    let Scene { world, from, to } = &scene;
    let shown = scene.accept(&[]).exits(0).stdout;
    let expected = format!(
        "accepted handoff 1 of T-1, which is now claimed by st under epoch 2: t\n  summary: test it\n  \
         work: lane to, branch lane/to, 1 commit, in {}\n  \
         moved: lane to: fast-forwarded lane/to to lane/from (1 commit)\n",
        to.display()
    );
    assert_eq!(shown, expected);
    scene.is_moved();
    assert_eq!(scene.head(to), scene.head(from));
    let prime = world.run(["--session", "st", "prime"]).exits(0).stdout;
    assert!(prime.contains("test it") && !prime.contains("not in yours"), "{prime}");
    // A repeat changes nothing.
    let again = scene.accept(&[]).exits(0).stdout;
    assert!(again.starts_with("unchanged: handoff 1 is accepted already; T-1 is claimed by st\n"), "{again}");
    // Evidence and gates are about the own lane.
    let run = ["--session", "st", "evidence", "run", "T-1", "--json", "--", "cat", "T-1"];
    assert_eq!(world.run(run).exits(0).json()["commit"], scene.head(to));
    world.run(["--session", "st", "done", "T-1"]).exits(0);

    // Commits of the own lane are kept: the others are merged.
    scene.commit(to, "own", "own");
    scene.offer("T-2");
    let merged = world.json(["--session", "st", "handoff", "accept", "2", "--move"]);
    let moved = &merged["moved"];
    assert_eq!((&moved["how"], &moved["base"], &moved["behind"]), (&"merge".into(), &"lane/from".into(), &1.into()));
    assert_eq!(moved["to"], scene.head(to));
    assert_eq!((&merged["work"]["lane"], &merged["work"]["commits"]), (&"to".into(), &4.into()));
    assert!(to.join("own").exists() && to.join("T-2").exists());
    assert_eq!(world.json(["task", "show", "T-2"])["lane"], "to");
}

#[test]
fn move_of_a_task_that_was_not_begun_moves_the_task_alone() {
    let scene = Scene::new();
    let world = &scene.world;
    world.run(["lane", "add", "third", "--create-worktree"]).exits(0);
    world.run(["task", "add", "T-2", "t"]).exits(0);
    world.run(["handoff", "create", "T-2", "--to-lane", "third", "--summary", "s"]).exits(0);
    let accepted = world.json(["handoff", "accept", "2", "--move"]);
    assert_eq!((&accepted["moved"], &accepted["work"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    assert_eq!(world.json(["task", "show", "T-2"])["lane"], "third");
}

#[test]
fn move_that_is_refused_changes_nothing() {
    let scene = Scene::new();
    let Scene { world, from, to } = &scene;
    let refuses = |exit: i32, code: &str, hint: &str| {
        let before = scene.state();
        let error = scene.accept(&["--json"]).refuses(exit, code).error();
        assert_eq!(error["hint"], hint);
        assert_eq!(scene.state(), before, "{code}");
        error["message"].as_str().unwrap().to_owned()
    };
    let commit = |dir: &Path| format!("commit the changes: git -C {0} add --all && git -C {0} commit", dir.display());
    // Work that is in no commit, on either side.
    for (dir, message) in [(from, "cannot move the work of the lane from: "), (to, "cannot sync the lane to: ")] {
        fs::write(dir.join("draft"), "d").unwrap();
        let said = refuses(5, "unsaved_work", &commit(dir));
        assert!(said.starts_with(message), "{said}");
        fs::remove_file(dir.join("draft")).unwrap();
    }
    // Another session in the own lane.
    fixtures::add_session(world, "other", "dev", Some("to"));
    refuses(4, "in_use", "stop it first: fairway session stop other");
    world.run(["session", "upsert", "--id", "other", "--lane", "from"]).exits(0);
    // The claim is refused: nothing is moved for it.
    world.run(["lane", "edit", "to", "--wip", "0"]).exits(0);
    refuses(5, "lane_full", "raise the limit: fairway lane edit to --wip 1");
    world.run(["lane", "edit", "to", "--wip", "5"]).exits(0);
    // A conflict.
    scene.commit(to, "T-1", "other");
    let by_hand = format!("resolve it by hand: git -C {} merge lane/from", to.display());
    refuses(5, "sync_conflict", &by_hand);
    // Resolved by hand, the acceptance goes on.
    world.git(to, &["merge", "--quiet", "--strategy-option=theirs", "lane/from"]);
    let accepted = scene.accept(&["--json"]).exits(0).json();
    assert_eq!(accepted["moved"]["how"], "up_to_date");

    world.run(["handoff", "accept", "1", "--move", "--no-claim", "--json"]).refuses(2, "usage");
}

#[test]
fn move_needs_a_lane_of_ones_own() {
    let scene = Scene::new();
    let Scene { world, .. } = &scene;
    let error = world.run(["handoff", "accept", "1", "--move", "--json"]).refuses(5, "work_not_moved").error();
    assert_eq!(error["message"], "cannot move the work of handoff 1: you act in no lane");
    assert_eq!(error["hint"], "act as a session of a lane: fairway handoff accept 1 --move --session SESSION");
    // A person names it.
    world.run(["lane", "add", "mine", "--create-worktree"]).exits(0);
    let named = world.fairway(["handoff", "accept", "1", "--move", "--json"]).env("FAIRWAY_LANE", "mine").output();
    let named = CommandOutput::from(named.unwrap()).exits(0).json();
    assert_eq!((&named["work"]["lane"], &named["moved"]["how"]), (&"mine".into(), &"fast_forward".into()));
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "mine");
}

#[test]
fn move_after_an_acceptance_without_it_says_where_the_work_stays() {
    let scene = Scene::new();
    scene.world.run(["--session", "st", "handoff", "accept", "1"]).exits(0);
    let before = scene.state();
    let error = scene.accept(&["--json"]).refuses(5, "work_not_moved").error();
    let why = "it is accepted already, without --move, and its work stays in the lane from";
    assert_eq!(error["message"], format!("cannot move the work of handoff 1: {why}"));
    let command = format!("git -C {} merge lane/from", scene.to.display());
    assert_eq!(error["hint"], format!("bring its commits into the lane to yourself: {command}"));
    assert_eq!(scene.state(), before);
}

/// Killed before git moves the branch, and after it: the same command finishes, with one record of the move.
#[test]
fn killed_move_is_finished_by_the_same_command() {
    for (lines, has_moved) in [("kill -9 $PPID; exit 1", false), ("GIT \"$@\"; kill -9 $PPID; exit 1", true)] {
        let scene = Scene::new();
        let killed = scene.accept_with(lines);
        assert_eq!(killed.code, None, "{killed:?}");
        assert_eq!(scene.head(&scene.to) == scene.head(&scene.from), has_moved);
        let handoff = scene.world.json(["handoff", "list", "--task", "T-1"]);
        assert_eq!(handoff[0]["status"], "open", "the claim has not moved");
        scene.accept(&[]).exits(0);
        scene.is_moved();
    }
}

/// The acceptance is refused after git has moved the branch: it moves back.
#[test]
fn move_of_a_handoff_that_is_withdrawn_meanwhile_is_undone() {
    let scene = Scene::new();
    let before = scene.head(&scene.to);
    let fairway = env!("CARGO_BIN_EXE_fairway");
    let withdraw = format!("{fairway} handoff withdraw 1 --force --reason x >/dev/null || exit 9");
    scene.accept_with(&withdraw).refuses(4, "already_answered");
    assert_eq!(scene.head(&scene.to), before);
    assert_eq!(scene.world.git(&scene.to, &["status", "--porcelain"]), "");
    scene.has_no_intent();
    assert!(!scene.world.run(["events"]).exits(0).stdout.contains("lane.synced"));
}
