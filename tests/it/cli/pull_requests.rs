//! `fairway land --pr` and `fairway pr sync`, with a forge script and a bare repository as the remote.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use fairway_actions::sessions::report::telemetry::{Turn, Usage, report};
use fairway_core::domain::RunId;
use fairway_core::env::Timestamp;
use serde_json::{Value, json};

use super::land::{NO_GATES, commit, lane_dir, main_commit, project, status, submitted};
use super::land_batch::wait_for;
use crate::api::page_client;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};
use crate::runtime::app;

const FORGE: &str = "[forge]\nscript = \".fairway/fake.py\"\n";

/// A project whose `main` follows that of a bare repository, which denies deletions, with the forge of the examples.
pub(super) fn world(land: &str) -> TestProject {
    world_with(NO_GATES, land)
}

pub(super) fn world_with(gates: &str, land: &str) -> TestProject {
    let world = project(&format!("{gates}[land]\nthrough = \"pr\"\n{land}\n{FORGE}"));
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

pub(super) fn remote(world: &TestProject) -> PathBuf {
    world.dir().join("remote.git")
}

/// What a person does on the forge.
pub(super) fn on_forge(world: &TestProject, args: &[&str]) -> Value {
    let mut command: Command = world.command(world.root().join(".fairway/fake.py"));
    let done = command.args(args).env("FAIRWAY_FORGE_REMOTE", remote(world)).stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

pub(super) fn pulls(world: &TestProject) -> Value {
    serde_json::from_str(&fs::read_to_string(remote(world).join("forge.json")).unwrap()).unwrap()
}

pub(super) fn branch(world: &TestProject, name: &str) -> String {
    world.git(&remote(world), &["rev-parse", name]).trim().to_owned()
}

pub(super) fn messages(world: &TestProject) -> String {
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

/// The task is done at the commit that the base got, by a merge, a squash and a rebase, and its lane ends.
#[test]
fn merged_pull_request_finishes_its_task_and_ends_its_lane() {
    let world = world("");
    for (number, (lane, style)) in [("ui", &[][..]), ("api", &["squash"]), ("tax", &["rebase"])].into_iter().enumerate()
    {
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
    assert_eq!(ready.stdout.matches("After it").count(), 3, "{}", ready.stdout);
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "0");
    insta::assert_snapshot!(world.transcript(&["fairway pr sync"]), @"
    $ fairway pr sync
    no pull request is open
    ");
}

/// The forge is asked to merge once for each state in which nothing is in the way, and its own rules have the last word.
#[test]
fn forge_is_asked_to_merge_what_its_rules_allow() {
    let world = world("merge = true\nstyle = \"squash\"");
    let task = submitted(&world, "ui", &[("a.txt", "a\n")]);
    world.run(["land", &task]).exits(0);
    let check = |state: &str| json!([{ "id": "1", "name": "test", "required": true, "state": state, "url": null }]);
    let sync = |state: Value| {
        on_forge(&world, &["set", "1", &state.to_string()]);
        world.run(["pr", "sync"]).exits(0).stderr
    };
    for in_the_way in [json!({ "checks": check("pending") }), json!({ "checks": check("passed"), "mergeable": null })] {
        assert!(!sync(in_the_way).contains("#1"));
    }
    let refused = sync(json!({ "mergeable": true, "rule": "one approval is missing" }));
    assert!(refused.contains("#1 was not merged") && refused.contains("one approval is missing"), "{refused}");
    assert!(!sync(json!({})).contains("#1"));
    let approved =
        json!([{ "id": "1", "author": "ann", "verdict": "approved", "commit": branch(&world, "lane/ui"), "body": "" }]);
    let asked = sync(json!({ "rule": "", "reviews": approved, "people": { "ann": true } }));
    assert!(asked.contains("#1 was asked to merge"), "{asked}");
    assert_eq!(status(&world, &task), "review");
    world.run(["pr", "sync"]).exits(0);
    assert_eq!(
        (status(&world, &task), json!(main_commit(&world))),
        ("done".into(), pulls(&world)[0]["merged_commit"].clone())
    );
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
    assert_eq!(synced.stdout, "#1 T-1 (lane ui): open, not begun: never, ✗ changes, 1 comment\n");
    assert_eq!((status(&world, &task), messages(&world)), ("review".to_owned(), "0".to_owned()));
    let board = world.run(["status"]).exits(0).stdout;
    assert!(board.contains("#1 not begun: never, ✗ changes, 1 comment: Work on ui"), "{board}");
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
    let words = json!([{ "id": "1", "author": "stranger", "body": "run\ncurl", "edited": null }]);
    on_forge(&world, &["set", "1", &json!({ "comments": words }).to_string()]);
    world.run(["pr", "sync"]).exits(0);
    // Every board shows it from the store, with its age.
    world.write_rows("UPDATE pull_requests SET synced_at = synced_at - 420000");
    let board = world.run(["status"]).exits(0).stdout;
    assert!(board.contains("lane ui has #1 1 comment (as of 7m ago)"), "{board}");
    let lanes = world.run(["lane", "list"]).exits(0).stdout;
    assert!(lanes.contains("PULL REQUEST") && lanes.contains("#1 1 comment (as of 7m ago)"), "{lanes}");
    let lane = world.run(["lane", "show", "ui"]).exits(0).stdout;
    assert!(lane.contains("> stranger: run curl"), "{lane}");
    assert_eq!(world.json(["status"])["lanes"][0]["pull_request"]["for_people"], json!(["stranger: run curl"]));
    // Nobody asks by hand: `session reconcile`, boards and `work` have it asked, at most once a minute.
    on_forge(&world, &["close", "1"]);
    world.run(["session", "reconcile"]).exits(0);
    let mark = world.root().join(".fairway/runtime/pulls-asked");
    let asked = fs::read_to_string(&mark).unwrap();
    let is_closed = || (world.json(["lane", "list"])[0]["pull_request"]["state"] == "closed").then_some(());
    wait_for(is_closed, "the forge is asked");
    world.write_rows("UPDATE pull_requests SET ended_at = NULL");
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(fs::read_to_string(&mark).unwrap(), asked);
    fs::remove_file(&mark).unwrap();
    let (server, page) = page_client::open(&world, &[]);
    page.get("/");
    wait_for(|| mark.exists().then_some(()), "an open page has the forge asked");
    drop(server);
    let closed = world.run(["pr", "sync"]).exits(0);
    assert_eq!(closed.stdout, "#1 T-1 (lane ui): closed\n");
    assert_eq!(status(&world, &task), "review");
    let board = world.run(["status"]).exits(0).stdout;
    assert!(board.contains("#1 closed: Work on ui"), "{board}");
    let again = world.json(["land", &task]);
    assert_eq!(again["landings"][0]["pull_request"]["number"], 2, "{again}");
}

/// What people whose words count say becomes verdicts and comments here, with the gates of these; the words of others are for people.
#[test]
fn words_of_people_who_may_write_become_verdicts_and_comments() {
    let gates = "\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = [\"reviews\", \"comments\"]\n";
    let world = world_with(gates, "");
    let file = world.root().join(".fairway.toml");
    let config = fs::read_to_string(&file).unwrap().replace(FORGE, &format!("{FORGE}trusted = [\"checker[bot]\"]\n"));
    fs::write(&file, config).unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=trusted"]);
    world.git(&world.root(), &["push", "--quiet"]);
    world.run(["trust"]).exits(0);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    let task = submitted(&world, "ui", &[("a.txt", "a\nb\nc\n")]);
    world.run(["review", "request", &task]).exits(0);
    // Its review is missing: the pull request is a draft, and the verdict there opens the gate.
    world.run(["land", &task]).exits(0);
    assert_eq!(pulls(&world)[0]["draft"], true);
    let head = branch(&world, "lane/ui");
    let says = |id: &str, author: &str, body: &str| json!({ "id": id, "author": author, "body": body, "edited": null });
    let thread = |id: &str, line: u64, side: &str, comments: Value| json!({ "id": id, "file": "a.txt", "line": line, "side": side, "commit": head, "resolved": false, "comments": comments });
    let review = |id: &str, author: &str, verdict: &str, commit: &str| json!({ "id": id, "author": author, "verdict": verdict, "commit": commit, "body": "" });
    let first = json!([says("1", "stranger", "run curl | sh"), says("2", "ann", "why?\n| obey")]);
    // A person has the name of the bot that is trusted, without its mark.
    let given = json!({
        "people": { "ann": true, "stranger": false, "bob": null },
        "reviews": [review("1", "ann", "approved", &head), review("2", "bob", "changes_requested", &head)],
        "threads": [thread("A", 2, "new", first.clone()), thread("B", 1, "new", json!([says("3", "checker", "rm -rf")]))],
        "comments": [says("4", "ann", "on the whole")],
    });
    on_forge(&world, &["set", "1", &given.to_string()]);
    let synced = world.run(["pr", "sync"]).exits(0);
    assert_eq!(synced.stdout, "#1 T-1 (lane ui): open, ✓ approved, draft, 3 comments; its author is told\n");
    // She approves, so that the work does not go back for her comment.
    assert_eq!((status(&world, &task), messages(&world)), ("review".to_owned(), "1".to_owned()));
    let text = world.value("SELECT content FROM messages");
    assert!(text.contains("a.txt:2 (comment 1), ann:\n  > why?\n  > | obey\n"), "{text}");
    assert!(!text.contains("curl") && !text.contains("rm -rf") && !text.contains("on the whole"), "{text}");
    let board = world.run(["status", "--all"]).exits(0).stdout;
    assert!(
        board.contains("#1 ✓ approved, draft, 3 comments: Work on ui") && board.contains("> checker: rm -rf"),
        "{board}"
    );
    let blockers = || {
        let report: Value = serde_json::from_str(&world.run(["merge-ready", &task, "--json"]).stdout).unwrap();
        let codes = report["blockers"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
        codes.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(blockers(), "pull_request_comment");
    world.run(["land", &task]).exits(0);
    assert_eq!(pulls(&world)[0]["draft"], false);
    // What is resolved on one side is resolved on the other, and what is opened again is told again.
    world.run(["--session", "rosa", "review", "resolve", "1", "--force", "--reason", "it is right"]).exits(0);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((&pulls(&world)[0]["threads"][0]["resolved"], blockers()), (&json!(true), String::new()));
    let again = json!({ "threads": [thread("A", 2, "new", first), thread("C", 3, "old", json!([says("5", "checker[bot]", "lost")]))] });
    on_forge(&world, &["set", "1", &again.to_string()]);
    world.run(["pr", "sync"]).exits(0);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((status(&world, &task), messages(&world)), ("in_progress".to_owned(), "2".to_owned()));
    let text = world.value("SELECT content FROM messages ORDER BY id DESC LIMIT 1");
    for part in ["was sent back", "comment 1), ann:\n  > why?", "a.txt:0 (comment 2), checker[bot]:\n  > lost"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The changed line answers its comment. One on a removed line stays open until it is resolved there.
    let reworked = commit(&world, "ui", &[("a.txt", "a\nB\nc\n")]);
    world.run(["task", "submit", &task, "--commit", &reworked]).exits(0);
    world.run(["land", &task]).exits(0);
    assert_eq!(
        (branch(&world, "lane/ui"), blockers()),
        (reworked.clone(), "review_lapsed pull_request_comment".into())
    );
    let mut threads = pulls(&world)[0]["threads"].clone();
    threads[1]["resolved"] = json!(true);
    // A verdict counts for its commit: the approval of the older one lapses, and one that asks for changes there is not told.
    let reviews =
        json!([review("1", "ann", "approved", &head), review("3", "checker[bot]", "changes_requested", &head)]);
    on_forge(&world, &["set", "1", &json!({ "threads": threads, "reviews": reviews }).to_string()]);
    let synced = world.run(["pr", "sync"]).exits(0);
    assert_eq!(synced.stdout, "#1 T-1 (lane ui): open, ✗ changes, 2 comments\n");
    assert_eq!((blockers().as_str(), messages(&world).as_str()), ("pull_request_changes", "2"));
    let reviews = json!([review("4", "ann", "approved", &reworked), review("3", "checker[bot]", "dismissed", &head)]);
    on_forge(&world, &["set", "1", &json!({ "reviews": reviews }).to_string()]);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((blockers().as_str(), status(&world, &task).as_str(), messages(&world).as_str()), ("", "review", "2"));
    let comments = world.json(["review", "comments", &task, "--all"]);
    let shown: Vec<_> = comments.as_array().unwrap().iter().map(|one| (&one["status"], &one["resolved_by"])).collect();
    assert_eq!(shown, [(&json!("answered"), &Value::Null), (&json!("resolved"), &json!("forge:checker[bot]"))]);
}

/// A verdict is posted with its comments on lines, and again only what is not there. Messages name who did the work and approved it.
#[test]
fn verdict_is_posted_once_and_trailers_name_agents_and_reviewers() {
    let world = world("trailers = [\"Fairway-Task\", \"Assisted-by\", \"Reviewed-by\"]");
    fixtures::add_session(&world, "worker", "dev", None);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    world.write_rows("UPDATE agent_sessions SET provider = 'claude' WHERE id = 'worker'");
    let usage = Usage { model: Some("opus".to_owned()), ..Usage::default() };
    let turn = Turn { at: Timestamp::from_millis(1), key: None, usage: Some(usage), tools: Vec::new() };
    report(&app(&world), &RunId::parse("run-worker"), &[turn]).unwrap();
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    world.run(["task", "add", "Work on ui", "--lane", "ui"]).exits(0);
    world.run(["--session", "worker", "claim", "T-1"]).exits(0);
    let first = commit(&world, "ui", &[("a.txt", "a\nb\n")]);
    let submit = |commit: &str| {
        world.run(["--session", "worker", "task", "submit", "T-1", "--commit", commit]).exits(0);
    };
    submit(&first);
    let record =
        |verdict: &str| world.run(["review", "record", "T-1", "--verdict", verdict, "--notes", "no", "--post"]);
    let none = record("changes").exits(3);
    assert!(none.stderr.contains("open pull request of the task 'T-1'"), "{}", none.stderr);
    assert_eq!(world.value("SELECT count(*) FROM reviews"), "0");
    world.run(["land", "T-1"]).exits(0);
    assert!(pulls(&world)[0]["body"].as_str().unwrap().ends_with("\n\nFairway-Task: T-1\nAssisted-by: claude:opus\n"));
    let mut by_agent = world.fairway(["review", "record", "T-1", "--verdict", "changes", "--post", "--json"]);
    let by_agent: CommandOutput = by_agent.env("FAIRWAY_SESSION_ID", "rosa").output().unwrap().into();
    by_agent.refuses(5, "inside_session");
    world.run(["review", "comment", "T-1", "a.txt:2", "why?"]).exits(0);
    let posted = record("changes").exits(0);
    assert!(posted.stderr.contains("posted on #1\n"), "{}", posted.stderr);
    let said = |at: usize| -> Value {
        let said = &pulls(&world)[0]["said"][at];
        assert_eq!(said[0], json!(["review"]));
        serde_json::from_str(said[1].as_str().unwrap()).unwrap()
    };
    let whole = said(0);
    assert_eq!((&whole["event"], &whole["commit_id"]), (&json!("REQUEST_CHANGES"), &json!(first)));
    let line = &whole["comments"][0];
    assert_eq!((&line["path"], &line["line"], &line["side"]), (&json!("a.txt"), &json!(2), &json!("RIGHT")));
    // It comes back as what it is: no verdict of another person, and no second message.
    let review = |author: &str, body: &Value| json!({ "id": "1", "author": author, "verdict": "changes_requested", "commit": first, "body": body });
    let thread = json!({ "id": "A", "file": "a.txt", "line": 2, "side": "new", "commit": first, "resolved": false,
        "comments": [{ "id": "9", "author": "me", "body": line["body"], "edited": null }] });
    let there = json!({ "people": { "me": true }, "reviews": [review("me", &whole["body"])], "own": true, "threads": [thread] });
    on_forge(&world, &["set", "1", &there.to_string()]);
    let told = messages(&world);
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((messages(&world), world.value("SELECT count(*) FROM review_comments")), (told, "1".to_owned()));
    let again = record("changes").exits(0);
    assert!(again.stderr.contains("it is on #1 already"), "{}", again.stderr);
    assert_eq!(world.value("SELECT count(*) FROM reviews"), "1");
    assert_eq!(pulls(&world)[0]["said"].as_array().unwrap().len(), 1);
    // One's own pull request takes no verdict there, and gets its words.
    submit(&first);
    let approved = record("approve").exits(0);
    assert!(approved.stderr.contains("posted on #1 as a comment: Can not approve"), "{}", approved.stderr);
    assert!(said(1)["event"] == "COMMENT" && said(1)["body"].as_str().unwrap().starts_with("approve, by "));
    world.run(["land", "T-1", "--push"]).exits(0);
    let message = world.git(&remote(&world), &["log", "-1", "--format=%(trailers)", "main"]);
    let lines: Vec<&str> = message.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[..2], ["Fairway-Task: T-1", "Assisted-by: claude:opus"]);
    assert!(lines[2].starts_with("Reviewed-by: ") && lines[2].contains('@') && lines.len() == 3, "{message}");
    // A record of the format that other tools read: its members, and an id in the form of a UUID.
    let trace = world.run(["task", "export", "--format", "agent-trace"]).exits(0).stdout;
    let record: Value = serde_json::from_str(&trace).unwrap();
    let (contributor, ranges) =
        (json!({ "type": "ai", "model_id": "opus" }), json!([{ "start_line": 1, "end_line": 2 }]));
    let written = json!([{ "path": "a.txt", "conversations": [{ "contributor": contributor, "ranges": ranges }] }]);
    assert_eq!((&record["files"], &record["version"]), (&written, &json!("0.1")), "{record}");
    assert_eq!(record["vcs"], json!({ "type": "git", "revision": main_commit(&world) }));
    let parts: Vec<usize> = record["id"].as_str().unwrap().split('-').map(str::len).collect();
    assert_eq!((parts.as_slice(), &record["metadata"]["fairway"]["tasks"]), (&[8, 4, 4, 4, 12][..], &json!(["T-1"])));
}
