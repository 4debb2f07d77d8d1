//! `fairway review next`: the card of a submitted task, and what each reviewer has seen.

use std::fs;

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, head, lane_dir, project, submitted};
use crate::common::{TestProject, fixtures};

/// A project with a reviewer and a submitted task of another session, in a lane of its own.
fn reviewed(config: &str, files: &[(&str, &str)]) -> TestProject {
    let world = project(&format!("{NO_GATES}{config}"));
    fixtures::add_session(&world, "rosa", "reviewer", None);
    fixtures::add_session(&world, "bob", "reviewer", None);
    submitted(&world, "ui", files);
    world
}

fn card(world: &TestProject, reviewer: &str) -> Value {
    world.json(["--session", reviewer, "review", "next"])["card"].clone()
}

fn patch(card: &Value) -> String {
    card["changes"]["patch"].as_str().unwrap().to_owned()
}

/// Submits a task again, with a commit of its rework.
fn resubmit(world: &TestProject, commit: &str) {
    world.run(["task", "resume", "T-1"]);
    world.run(["task", "submit", "T-1", "--commit", commit]).exits(0);
}

/// Merges the base into a lane, with a conflict.
fn merge_with_conflict(world: &TestProject) {
    let mut merge = world.command("git");
    let user = ["-c", "user.name=a", "-c", "user.email=a@b"];
    assert!(
        !merge.current_dir(lane_dir(world, "ui")).args(user).args(["merge", "main"]).output().unwrap().status.success()
    );
}

/// The lines that a patch adds.
fn added(patch: &str) -> Vec<&str> {
    patch.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).map(|line| &line[1..]).collect()
}

#[test]
fn card_shows_only_what_its_reader_has_not_seen() {
    let world = reviewed("", &[("a.txt", "one\ntwo\n")]);
    let dir = lane_dir(&world, "ui");
    let first = card(&world, "rosa");
    assert_eq!((&first["task"]["id"], &first["changes"]["since"]), (&json!("T-1"), &Value::Null));
    assert_eq!(added(&patch(&first)), ["one", "two"]);
    // Looking again shows the same.
    assert_eq!(patch(&card(&world, "rosa")), patch(&first));
    // The base moves, the lane is rebased on it, and one line is reworked.
    fs::write(world.root().join("base.txt"), "of the base\n").unwrap();
    world.git(&world.root(), &["add", "base.txt"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=base"]);
    world.git(&dir, &["rebase", "--quiet", "main"]);
    let rebased = head(&world, &dir);
    resubmit(&world, &rebased);
    let second = card(&world, "rosa");
    assert_eq!((patch(&second).as_str(), &second["changes"]["commits"][0]["change"]), ("", &json!("same")));
    world.run(["--session", "rosa", "review", "record", "T-1", "--verdict", "changes"]).exits(0);
    let reworked = commit(&world, "ui", &[("a.txt", "one\n2\n")]);
    resubmit(&world, &reworked);
    let second = card(&world, "rosa");
    assert_eq!((&second["changes"]["commit"], added(&patch(&second))), (&json!(reworked), vec!["2"]));
    // Another reader has seen nothing, and --all shows everything.
    assert_eq!(added(&patch(&card(&world, "bob"))), ["one", "2"]);
    let all = world.json(["--session", "rosa", "review", "next", "--all"])["card"].clone();
    assert_eq!((added(&patch(&all)), &all["changes"]["since"]), (vec!["one", "2"], &Value::Null));
    // What was seen outlives a collection of garbage, and nothing is kept of a task that is over.
    world.git(&world.root(), &["reflog", "expire", "--expire=now", "--all"]);
    world.git(&world.root(), &["gc", "--quiet", "--prune=now"]);
    world.git(&world.root(), &["cat-file", "-e", &rebased]);
    world.run(["task", "cancel", "T-1", "--reason", "no"]).exits(0);
    assert_eq!(world.git(&world.root(), &["for-each-ref", "refs/fairway"]), "");
    assert_eq!(world.value("SELECT count(*) FROM seen_work"), "0");
}

#[test]
fn rebase_and_merge_of_the_base_show_nothing_new() {
    let world = reviewed("", &[("shared.txt", "1\n2\n3\n4\nfive\n")]);
    let dir = lane_dir(&world, "ui");
    card(&world, "rosa");
    fs::write(world.root().join("shared.txt"), "one\n2\n3\n4\n5\n").unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=base"]);
    for how in [&["rebase", "--quiet", "main"][..], &["merge", "--quiet", "--no-ff", "--no-edit", "main"]] {
        world.git(&dir, how);
        let tip = head(&world, &dir);
        resubmit(&world, &tip);
        let found = card(&world, "rosa");
        assert_eq!((patch(&found).as_str(), &found["changes"]["files"]), ("", &json!([])), "{how:?}: {found}");
        fs::write(world.root().join(how[0]), "more\n").unwrap();
        world.git(&world.root(), &["add", how[0]]);
        world.git(&world.root(), &["commit", "--quiet", "--message=more"]);
    }
}

/// The base conflicts with what was seen: a line of neither side is shown, also one that looks like git's own.
#[test]
fn conflict_with_the_base_shows_every_line_that_neither_side_has() {
    let world = reviewed("", &[("shared.txt", "1\n2\nours\n4\n5\n")]);
    card(&world, "rosa");
    world.run(["--session", "rosa", "review", "record", "T-1", "--verdict", "changes"]).exits(0);
    fs::write(world.root().join("shared.txt"), "1\n2\ntheirs\n4\n5\n").unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=base"]);
    merge_with_conflict(&world);
    let resolved = commit(&world, "ui", &[("shared.txt", "1\n2\nours\nboth\ntheirs\n4\n5\n")]);
    world.run(["task", "submit", "T-1", "--commit", &resolved]).exits(0);
    let found = card(&world, "rosa");
    assert_eq!(added(&patch(&found)), ["both"], "{found}");
    assert_eq!(found["changes"]["conflicts"], json!(["shared.txt"]));
    let text = world.run(["--session", "rosa", "review", "next"]).exits(0).stdout;
    assert!(text.contains("the base conflicts with what you saw in shared.txt"), "{text}");

    // Lines such as git writes between the sides could be taken for seen.
    world.run(["--session", "bob", "review", "record", "T-1", "--verdict", "changes"]).exits(0);
    fs::write(world.root().join("shared.txt"), "1\n2\ntheirs again\n4\n5\n").unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=base"]);
    merge_with_conflict(&world);
    let hidden = commit(&world, "ui", &[("shared.txt", "1\n2\nours\nboth\n=======\ntheirs again\n4\n5\n")]);
    world.run(["task", "submit", "T-1", "--commit", &hidden]).exits(0);
    let found = card(&world, "rosa");
    assert!(added(&patch(&found)).contains(&"======="), "{found}");
}

#[test]
fn everything_is_shown_where_what_was_seen_cannot_be_compared_with() {
    let world = reviewed("", &[("a.txt", "one\n")]);
    card(&world, "rosa");
    world.run(["--session", "rosa", "review", "record", "T-1", "--verdict", "changes"]).exits(0);
    let reworked = commit(&world, "ui", &[("a.txt", "one\ntwo\n")]);
    world.run(["task", "submit", "T-1", "--commit", &reworked]).exits(0);
    let gone = "0123456789012345678901234567890123456789";
    world.write_rows(&format!("UPDATE seen_work SET commit_id = '{gone}'"));
    let found = card(&world, "rosa");
    let why = "the commit 012345678901, which you have seen, is not in this repository";
    assert_eq!((added(&patch(&found)), &found["changes"]["why_all"]), (vec!["one", "two"], &json!(why)));

    // The base has lost the commit that the work was seen on: what it had is the work's part now.
    let world = reviewed("", &[("a.txt", "one\n")]);
    card(&world, "rosa");
    world.run(["--session", "rosa", "review", "record", "T-1", "--verdict", "changes"]).exits(0);
    world.git(&world.root(), &["reset", "--quiet", "--hard", "HEAD~1"]);
    let reworked = commit(&world, "ui", &[("a.txt", "one\ntwo\n")]);
    world.run(["task", "submit", "T-1", "--commit", &reworked]).exits(0);
    let found = card(&world, "rosa");
    assert!(found["changes"]["why_all"].as_str().unwrap().starts_with("'main' no longer contains"), "{found}");
    assert!(added(&patch(&found)).contains(&"5"), "{found}");
}

#[test]
fn patch_that_did_not_fit_in_does_not_count_as_seen() {
    let text: String = (0..40).map(|number| format!("{number}\n")).collect();
    let world = reviewed("", &[("a.txt", &text)]);
    let shown = world.run(["--session", "rosa", "review", "next", "--lines", "5"]).exits(0).stdout;
    assert!(shown.contains("more lines: fairway review next --task T-1 --lines 0\n"), "{shown}");
    assert_eq!(world.value("SELECT count(*) FROM seen_work"), "0");
    world.run(["--session", "rosa", "review", "next", "--quiet"]).exits(0);
    assert_eq!(world.value("SELECT count(*) FROM seen_work"), "0");
    world.run(["--session", "rosa", "review", "next", "--lines", "0"]).exits(0);
    assert_eq!(world.value("SELECT count(*) FROM seen_work"), "1");
}

#[test]
fn card_tells_what_was_asked_and_what_it_would_do() {
    let world = project(NO_GATES);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    world.run(["task", "add", "Carts", "--lane", "ui", "--body", "Count.\nTwice.", "--check", "unit=true"]).exits(0);
    world.run(["task", "add", "Later", "--depends-on", "T-1"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    let tip = commit(&world, "ui", &[("Cargo.toml", "[package]\n"), ("a\u{1b}[2J", "\u{1b}[2J\n")]);
    world.run(["evidence", "run", "T-1", "--check", "unit"]).exits(0);
    world.run(["task", "submit", "T-1", "--commit", &tip]).exits(0);
    world.run(["review", "request", "T-1", "--reviewer", "rosa"]).exits(0);
    let text = world.run(["--session", "rosa", "review", "next"]).exits(0).stdout;
    for part in [
        "T-1: Carts\n",
        "wanted by T-2",
        "asked:      Count.\n            Twice.\n",
        "check:      unit: true\n",
        "evidence:   test pass, observed: true\n",
        "review:     requested in general by rosa\n",
        "would:      dependencies: Cargo.toml\n",
        "\napprove: fairway review record T-1 --verdict approve --commit ",
        "\nask for changes: fairway review record T-1 --verdict changes --commit ",
        "\nsee it later: fairway review next --defer T-1\n",
        "\nland it: fairway land T-1\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn cards_come_by_age_and_by_what_waits_for_them_and_deferred_ones_last() {
    let world = project(NO_GATES);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    fixtures::add_session(&world, "author", "dev", None);
    for (number, lane) in [(1, "a"), (2, "b"), (3, "c")] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
        let id = format!("T-{number}");
        world.run(["task", "add", &id, lane, "--lane", lane]).exits(0);
        world.run(["--session", "author", "claim", &id]).exits(0);
        commit(&world, lane, &[(lane, "x\n")]);
        world.run(["--session", "author", "task", "submit", &id]).exits(0);
        world.advance_clock(60);
    }
    let waiting = |reviewer: &str| world.json(["--session", reviewer, "review", "next"])["waiting"].clone();
    assert_eq!(waiting("rosa"), json!(["T-1", "T-2", "T-3"]));
    // One's own work is no card.
    assert_eq!(waiting("author"), json!([]));
    for number in 4..8 {
        world.run(["task", "add", &format!("T-{number}"), "later", "--depends-on", "T-3"]).exits(0);
    }
    assert_eq!(waiting("rosa"), json!(["T-3", "T-1", "T-2"]));
    let next = world.json(["--session", "rosa", "review", "next", "--defer", "T-3"]);
    assert_eq!((&next["card"]["task"]["id"], &next["waiting"]), (&json!("T-1"), &json!(["T-1", "T-2", "T-3"])));
    assert_eq!(next["deferred"], json!(["T-3"]));
    world.advance_clock(60);
    world.run(["--session", "author", "task", "resume", "T-3"]).exits(0);
    world.run(["--session", "author", "task", "submit", "T-3"]).exits(0);
    world.advance_clock(600);
    assert_eq!(world.json(["--session", "rosa", "review", "next"])["deferred"], json!([]));
    // A verdict ends the wait, and a request of another reviewer is no wait of this one.
    world.run(["--session", "rosa", "review", "record", "T-1", "--verdict", "approve"]).exits(0);
    world.run(["review", "request", "T-2", "--reviewer", "bob"]).exits(0);
    assert_eq!(waiting("rosa"), json!(["T-3"]));
    // An empty answer says why.
    world.run(["--session", "rosa", "review", "record", "T-3", "--verdict", "changes"]).exits(0);
    world.run(["--session", "author", "task", "submit", "T-3"]).exits(0);
    world.run(["--session", "rosa", "review", "record", "T-3", "--verdict", "approve"]).exits(0);
    let others = world.run(["--session", "rosa", "review", "next"]).exits(0).stdout;
    assert_eq!(
        others,
        "no submitted task waits for your review\nT-1: you have given your verdict\n\
         T-2: its review is requested of bob\nT-3: you have given your verdict\n"
    );
    let own = world.run(["--session", "author", "review", "next"]).exits(0).stdout;
    assert!(own.contains("\nT-1: you have claimed it\n"), "{own}");
    world.run(["review", "next", "--defer", "T-4", "--json"]).refuses(4, "wrong_state");
    world.run(["review", "next", "--task", "T-99", "--json"]).refuses(3, "not_found");
}

#[test]
fn no_card_is_shown_when_nothing_waits() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&["fairway review next", "fairway review next --task T-1"]), @"
    $ fairway review next
    no submitted task waits for your review
    $ fairway review next --task T-1
    error: there is no task 'T-1'
    hint: list the tasks: fairway task list
    [exit 3]
    ");
}

/// Five lanes came back: each takes a card, a verdict and a landing.
#[test]
fn day_of_five_lanes_is_reviewed_in_three_commands_for_each() {
    let world = project("\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = [\"reviews\"]\n");
    fixtures::add_session(&world, "rosa", "reviewer", None);
    for lane in ["a", "b", "c", "d", "e"] {
        submitted(&world, lane, &[(&format!("{lane}.txt"), "work\n")]);
        world.advance_clock(60);
    }
    let mut commands = 0;
    while let Some(id) = card(&world, "rosa")["task"]["id"].as_str().map(str::to_owned) {
        let card = card(&world, "rosa");
        let acts = card["commands"].as_array().unwrap();
        let act = |purpose: &str| {
            let found = acts.iter().find(|one| one["purpose"] == purpose).unwrap();
            shell_words::split(found["command"].as_str().unwrap()).unwrap()
        };
        let approve = act("approve");
        world.run([&["--session".to_owned(), "rosa".to_owned()], &approve[1..]].concat()).exits(0);
        world.run(&act("land it")[1..]).exits(0);
        assert_eq!(world.json(["task", "show", &id])["status"], "done");
        commands += 3;
    }
    assert_eq!(commands, 15);
    assert_eq!(world.git(&world.root(), &["for-each-ref", "refs/fairway"]), "");
}
