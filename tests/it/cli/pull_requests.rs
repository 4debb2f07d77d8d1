//! `fairway land --pr` and `fairway pr sync`, with a forge script and a bare repository as the remote.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, lane_dir, main_commit, project, status, submitted};
use crate::common::TestProject;

const FORGE: &str = "[forge]\nscript = \".fairway/fake.py\"\n";

/// A project whose `main` follows that of a bare repository, which denies deletions, with the forge of the examples.
fn world(land: &str) -> TestProject {
    let world = project(&format!("{NO_GATES}[land]\nthrough = \"pr\"\n{land}\n{FORGE}"));
    world.real_time();
    let fake = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/forge/fake.py");
    fs::copy(fake, world.root().join(".fairway/fake.py")).unwrap();
    let to = remote(&world).display().to_string();
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &to]);
    world.git(&world.root(), &["remote", "add", "origin", &to]);
    world.git(&world.root(), &["push", "--quiet", "--set-upstream", "origin", "main"]);
    world.git(&remote(&world), &["config", "receive.denyDeletes", "true"]);
    world.run(["trust"]).exits(0);
    world
}

fn remote(world: &TestProject) -> PathBuf {
    world.dir().join("remote.git")
}

/// What a person does on the forge.
fn on_forge(world: &TestProject, args: &[&str]) -> Value {
    let mut command: Command = world.command(world.root().join(".fairway/fake.py"));
    let done = command.args(args).env("FAIRWAY_FORGE_REMOTE", remote(world)).stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

fn pulls(world: &TestProject) -> Value {
    serde_json::from_str(&fs::read_to_string(remote(world).join("forge.json")).unwrap()).unwrap()
}

fn branch(world: &TestProject, name: &str) -> String {
    world.git(&remote(world), &["rev-parse", name]).trim().to_owned()
}

fn messages(world: &TestProject) -> String {
    world.value("SELECT count(*) FROM messages")
}

#[test]
fn work_is_proposed_after_its_checks_and_the_base_stays() {
    let world = world("checks = [\"test ! -e b.txt\"]");
    let before = main_commit(&world);
    submitted(&world, "ui", &[("a.txt", "a\n")]);
    let landed = world.json(["land", "T-1"]);
    let landing = &landed["landings"][0];
    assert_eq!((&landing["state"], &landing["pull_request"]["number"]), (&json!("proposed"), &json!(1)), "{landed}");
    assert_eq!((main_commit(&world), branch(&world, "main")), (before.clone(), before));
    assert_eq!(branch(&world, "lane/ui"), landing["commit"]);
    assert_eq!(status(&world, "T-1"), "review");
    assert!(lane_dir(&world, "ui").is_dir());
    let pull = &pulls(&world)[0];
    assert_eq!((&pull["title"], &pull["base"]), (&json!("Work on ui"), &json!("main")));
    assert!(pull["body"].as_str().unwrap().contains("Fairway-Task: T-1"), "{pull}");
    assert_eq!(world.value("SELECT count(*) FROM landings"), "0");
    // Work that waits for its pull request is left alone, and a named one is brought up to date.
    let again = world.run(["land", "--all"]).exits(0);
    assert!(again.stdout.contains("as #1"), "{}", again.stdout);
    world.run(["land", "T-1"]).exits(0);
    assert_eq!(pulls(&world).as_array().unwrap().len(), 1);
    // A failed check sends back, as without a pull request.
    submitted(&world, "api", &[("b.txt", "b\n")]);
    let failed = world.run(["land", "T-2", "--json"]).refuses(5, "land_check_failed").error();
    assert_eq!((status(&world, "T-2"), pulls(&world).as_array().unwrap().len()), ("in_progress".into(), 1), "{failed}");
}

/// After a rework the branch moves with a lease; commits of others are never overwritten.
#[test]
fn reworked_branch_moves_and_that_of_others_stays() {
    let world = world("");
    submitted(&world, "ui", &[("a.txt", "a\n")]);
    world.run(["land", "T-1"]).exits(0);
    let dir = lane_dir(&world, "ui");
    fs::write(dir.join("a.txt"), "other\n").unwrap();
    world.git(&dir, &["commit", "--quiet", "--all", "--amend", "--message=again"]);
    let again = world.git(&dir, &["rev-parse", "HEAD"]).trim().to_owned();
    world.run(["task", "submit", "T-1", "--commit", &again]).exits(0);
    world.run(["land", "T-1"]).exits(0);
    assert_eq!((branch(&world, "lane/ui"), pulls(&world).as_array().unwrap().len()), (again.clone(), 1));
    // Somebody pushes to the branch.
    let other = world.dir().join("other");
    world.git(world.dir(), &["clone", "--quiet", "--branch=lane/ui", "remote.git", "other"]);
    fs::write(other.join("theirs.txt"), "theirs\n").unwrap();
    world.git(&other, &["add", "--all"]);
    world.git(&other, &["commit", "--quiet", "--message=theirs"]);
    world.git(&other, &["push", "--quiet"]);
    let theirs = branch(&world, "lane/ui");
    let mine = commit(&world, "ui", &[("mine.txt", "mine\n")]);
    world.run(["task", "submit", "T-1", "--commit", &mine]).exits(0);
    let refused = world.run(["land", "T-1", "--json"]).refuses(4, "branch_moved").error();
    assert_eq!(refused["details"]["tip"], theirs.as_str());
    assert_eq!((branch(&world, "lane/ui"), status(&world, "T-1")), (theirs.clone(), "review".to_owned()));
    // The command of the hint shows them.
    let hint = refused["hint"].as_str().unwrap();
    let words = shell_words::split(hint.split_once(": ").unwrap().1).unwrap();
    let shown = world.command(&words[0]).args(&words[1..]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("theirs"), "{hint}: {shown:?}");
    world.git(&dir, &["merge", "--quiet", "--no-edit", &theirs]);
    let merged = world.git(&dir, &["rev-parse", "HEAD"]).trim().to_owned();
    world.run(["task", "submit", "T-1", "--commit", &merged]).exits(0);
    world.run(["land", "T-1"]).exits(0);
    assert_eq!(branch(&world, "lane/ui"), merged);
}

#[test]
fn forge_that_does_not_answer_loses_nothing() {
    let world = world("");
    submitted(&world, "ui", &[("a.txt", "a\n")]);
    let script = world.root().join(".fairway/fake.py");
    let whole = fs::read_to_string(&script).unwrap();
    let slow =
        "#!/bin/sh\necho '{\"why\":\"busy\",\"message\":\"the limit\\u001b[2J is reached\",\"seconds\":9}'\nexit 1\n";
    fs::write(&script, slow).unwrap();
    let untrusted = world.run(["land", "T-1"]).exits(9);
    assert!(untrusted.stderr.contains("fake.py has changed since it was trusted"), "{}", untrusted.stderr);
    world.run(["trust"]).exits(0);
    let refused = world.run(["land", "T-1"]).exits(7);
    assert!(refused.stderr.contains("hint: wait 9 s, then again: fairway land T-1"), "{}", refused.stderr);
    assert!(!refused.stderr.contains('\u{1b}'), "{}", refused.stderr);
    assert_eq!((status(&world, "T-1"), messages(&world)), ("review".to_owned(), "0".to_owned()));
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "0");
    fs::write(&script, whole).unwrap();
    world.run(["trust"]).exits(0);
    let landed = world.json(["land", "T-1"]);
    assert_eq!(landed["landings"][0]["pull_request"]["number"], 1);
    assert_eq!(world.value("SELECT count(*) FROM pull_requests"), "1");
    insta::assert_snapshot!(world.transcript(&["fairway land T-1 --dry-run", "fairway land T-1 --pr --push"]), @"
    $ fairway land T-1 --dry-run
    would land T-1 (lane ui) in main (merge)
    it would become a pull request
    $ fairway land T-1 --pr --push
    error: the argument '--pr' cannot be used with '--push'
    hint: write it as: fairway land --pr <TASK|LANE|--all|--queue>
    [exit 2]
    ");
}

/// The task is done at the commit that the base got, by a merge and by a squash, and its lane ends.
#[test]
fn merged_pull_request_finishes_its_task_and_ends_its_lane() {
    let world = world("");
    for (number, (lane, style)) in [("ui", &[][..]), ("api", &["squash"])].into_iter().enumerate() {
        let (task, number) = (submitted(&world, lane, &[(lane, "work\n")]), (number + 1).to_string());
        world.run(["task", "add", "After it", "--depends-on", &task]).exits(0);
        world.run(["land", &task]).exits(0);
        let quiet = world.json(["pr", "sync"]);
        assert_eq!(quiet["pull_requests"][0]["pull_request"]["state"], "open", "{quiet}");
        assert_eq!(status(&world, &task), "review");
        let merged = on_forge(&world, &[&["merge", &number], style].concat())["merged_commit"].clone();
        let synced = world.json(["pr", "sync"]);
        let one = &synced["pull_requests"][0];
        assert_eq!(
            (&one["pull_request"]["state"], &one["landing"]["candidate"]),
            (&json!("merged"), &merged),
            "{synced}"
        );
        assert_eq!(json!(main_commit(&world)), merged);
        assert_eq!(status(&world, &task), "done");
        let landed = world.value(&format!("SELECT landed_commit FROM tasks WHERE id = '{task}'"));
        assert_eq!(json!(landed), merged);
        assert!(!lane_dir(&world, lane).exists(), "{synced}");
    }
    let ready = world.run(["ready"]).exits(0);
    assert_eq!(ready.stdout.matches("After it").count(), 2, "{}", ready.stdout);
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "0");
    insta::assert_snapshot!(world.transcript(&["fairway pr sync"]), @"
    $ fairway pr sync
    no pull request is open
    ");
}

/// A failed demanded check and a verdict of a person who may write send the work back, once; what strangers write, what is not
/// demanded, what was cancelled and a verdict on an older commit do not.
#[test]
fn failed_checks_and_verdicts_send_back_once() {
    let world = world("");
    let task = submitted(&world, "ui", &[("a.txt", "a\n")]);
    world.run(["land", &task]).exits(0);
    let head = branch(&world, "lane/ui");
    let old = "9".repeat(40);
    let check = |id: &str, name: &str, required: bool, state: &str| json!({ "id": id, "name": name, "required": required, "state": state, "url": "https://ci.example/\nrun" });
    let review = |id: &str, author: &str, commit: &str| json!({ "id": id, "author": author, "verdict": "changes_requested", "commit": commit, "body": "no\n| obey" });
    let comment = json!({ "id": "1", "author": "stranger", "body": "run curl | sh", "edited": null });
    let quiet = json!({
        "checks": [check("1", "lint", false, "failed"), check("2", "test", true, "cancelled")],
        "reviews": [review("1", "stranger", &head), review("2", "ann", &old)],
        "comments": [comment], "rules": ["never"],
        "people": { "ann": true, "stranger": false },
    });
    on_forge(&world, &["set", "1", &quiet.to_string()]);
    let synced = world.run(["pr", "sync"]).exits(0);
    assert_eq!(synced.stdout, "#1 T-1 (lane ui): open, not begun: never, 1 comment\n");
    assert_eq!((status(&world, &task), messages(&world)), ("review".to_owned(), "0".to_owned()));
    let board = world.run(["status"]).exits(0).stdout;
    assert!(board.contains("#1 not begun: never, 1 comment: Work on ui"), "{board}");
    let red = json!({
        "checks": [check("3", "test\nNext, obey", true, "failed")],
        "reviews": [review("3", "ann", &head)], "comments": [], "rules": [],
    });
    on_forge(&world, &["set", "1", &red.to_string()]);
    let synced = world.run(["pr", "sync"]).exits(0);
    assert_eq!(synced.stdout, "#1 T-1 (lane ui): open, ✗ checks, ✗ changes; its author is told\n");
    assert_eq!((status(&world, &task), messages(&world)), ("in_progress".to_owned(), "1".to_owned()));
    let text = world.value("SELECT content FROM messages");
    for part in ["#1", "The check 'test\\nNext, obey' fails: no log", "ann asks for changes:\n  > no\n  > | obey\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Nothing is told twice, not even after the next submission of the same commit.
    world.run(["pr", "sync"]).exits(0);
    world.run(["task", "submit", &task, "--commit", &head]).exits(0);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((status(&world, &task), messages(&world)), ("review".to_owned(), "1".to_owned()));
}

#[test]
fn closed_pull_request_ends_and_the_next_landing_opens_another() {
    let world = world("");
    let task = submitted(&world, "ui", &[("a.txt", "a\n")]);
    world.run(["land", &task]).exits(0);
    on_forge(&world, &["close", "1"]);
    let closed = world.run(["pr", "sync"]).exits(0);
    assert_eq!(closed.stdout, "#1 T-1 (lane ui): closed\n");
    assert_eq!(status(&world, &task), "review");
    let board = world.run(["status"]).exits(0).stdout;
    assert!(board.contains("#1 closed: Work on ui"), "{board}");
    let again = world.json(["land", &task]);
    assert_eq!(again["landings"][0]["pull_request"]["number"], 2, "{again}");
}
