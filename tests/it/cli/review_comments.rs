//! Comments of reviewers on lines: told once, followed through a rework, open until answered or resolved.

use std::fs;

use serde_json::{Value, json};

use super::land::{commit, head, lane_dir, project};
use crate::common::{TestProject, fixtures};
use crate::mcp::Client;

const GATES: &str = "\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = [\"comments\"]\n";

/// A task in review whose work is a file of six lines, by the session `author`.
fn reviewed() -> TestProject {
    let world = project(GATES);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    fixtures::add_session(&world, "author", "dev", Some("ui"));
    world.run(["task", "add", "T-1", "Carts", "--lane", "ui"]).exits(0);
    world.run(["--session", "author", "claim", "T-1"]).exits(0);
    let tip = commit(&world, "ui", &[("a.txt", "1\n2\n3\n4\n5\n6\n")]);
    submit(&world, &tip);
    world
}

fn submit(world: &TestProject, tip: &str) {
    world.run(["--session", "author", "task", "submit", "T-1", "--commit", tip]).exits(0);
}

/// The comments in short: `status path:line`.
fn comments(world: &TestProject) -> Vec<String> {
    let found = world.json(["review", "comments", "T-1", "--all"]);
    let text =
        |one: &Value| format!("{} {}:{}", one["status"].as_str().unwrap(), one["path"].as_str().unwrap(), one["line"]);
    found.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn comments_without_a_task_are_those_of_the_claimed_one() {
    let world = reviewed();
    world.run(["--session", "rosa", "review", "comment", "T-1", "a.txt:2", "why two?"]).exits(0);
    let own = world.json(["--session", "author", "review", "comments"]);
    assert_eq!(own, world.json(["review", "comments", "T-1"]));
    world.run(["review", "comments", "--json"]).refuses(4, "nothing_claimed");
}

#[test]
fn comments_are_written_listed_and_resolved() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --quiet",
        "fairway review comments T-1",
        "fairway review comment T-1 a.txt 'why?'",
        "fairway review resolve 3",
    ]), @"
    $ fairway task add T-1 'one' --quiet
    T-1
    $ fairway review comments T-1
    no comments
    $ fairway review comment T-1 a.txt 'why?'
    error: invalid value 'a.txt' for '<FILE:LINE>': 'a.txt' is no FILE:LINE, as src/cart.rs:12
    hint: read the help: fairway review comment --help
    [exit 2]
    $ fairway review resolve 3
    error: there is no comment '3'
    [exit 3]
    ");
}

#[test]
fn author_is_told_once_per_round_and_the_line_is_followed_until_a_commit_changes_it() {
    let world = reviewed();
    let by = |session: &str, args: &[&str]| world.run([&["--session", session], args].concat());
    // A line that is not there: the hint shows what is.
    for (place, expected) in [("a.txt:9", "6\t6\n"), ("b.txt:1", "a.txt\n")] {
        let words = ["review", "comment", "T-1", place, "x", "--json"];
        let error = by("rosa", &words).refuses(2, "invalid_value").error();
        let (_, command) = error["hint"].as_str().unwrap().split_once(": ").unwrap();
        let shown = world.command("sh").args(["-c", command]).output().unwrap();
        assert!(String::from_utf8_lossy(&shown.stdout).contains(expected), "{error}");
    }
    by("rosa", &["review", "comment", "T-1", "a.txt:2", "why two?"]).exits(0);
    by("rosa", &["review", "comment", "T-1", "a.txt:5", "five is right"]).exits(0);
    by("rosa", &["review", "record", "T-1", "--verdict", "changes", "--notes", "two lines"]).exits(0);
    let inbox = by("author", &["inbox", "--json"]).exits(0).json();
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    let told = inbox[0]["content"].as_str().unwrap();
    for part in ["(review 1): two lines\n", "\na.txt:2 (comment 1): why two?\na.txt:5 (comment 2): five is right\n"] {
        assert!(told.contains(part), "{part:?} in {told}");
    }
    // The author sees them where it looks for work.
    let context = by("author", &["prime"]).exits(0).stdout;
    assert!(context.contains("2 open comments") && context.contains("> a.txt:2 (comment 1): why two?"), "{context}");
    let next = Client::of_session(&world, "author").call("next", json!({})).succeeds();
    for part in ["> a.txt:2 (comment 1): why two?", "to answer a reviewer's comment, change its line"] {
        assert!(next.text.contains(part), "{part:?} in {}", next.text);
    }
    // Lines before them move them, also in a renamed file and over a merge of the base.
    let dir = lane_dir(&world, "ui");
    fs::write(world.root().join("shared.txt"), "one\n2\n3\n4\n5\n").unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=base"]);
    world.git(&dir, &["merge", "--quiet", "--no-edit", "main"]);
    world.git(&dir, &["mv", "a.txt", "b.txt"]);
    let tip = commit(&world, "ui", &[("b.txt", "0\n1\n2\n3\n4\nfive\n6\n")]);
    submit(&world, &tip);
    assert_eq!(comments(&world), ["open b.txt:3", "answered a.txt:5"]);
    let report = world.run(["merge-ready", "T-1", "--json"]).exits(5).json();
    let blockers = report["blockers"].as_array().unwrap();
    let open: Vec<&Value> = blockers.iter().filter(|one| one["code"] == "comment_open").collect();
    assert_eq!(open.len(), 1, "{report}");
    assert_eq!(open[0]["message"], "comment 1 by rosa is open: b.txt:3");
    assert_eq!(open[0]["fix"], "change the line, or by rosa: fairway review resolve 1");
    world.run(["land", "T-1", "--json"]).exits(5);
    // The next round tells what is new only.
    by("rosa", &["review", "comment", "T-1", "b.txt:1", "zero?"]).exits(0);
    let card = by("rosa", &["review", "next", "--json"]).exits(0).json()["card"].clone();
    let places: Vec<&Value> = card["comments"].as_array().unwrap().iter().map(|one| &one["line"]).collect();
    assert_eq!(places, [&json!(3), &json!(1)]);
    // A verdict that is taken back has told nothing: the next one does.
    by("rosa", &["review", "record", "T-1", "--verdict", "approve"]).exits(0);
    by("rosa", &["task", "undo", "T-1"]).exits(0);
    by("rosa", &["review", "record", "T-1", "--verdict", "approve"]).exits(0);
    let inbox = by("author", &["inbox", "--json"]).exits(0).json();
    let told = inbox[0]["content"].as_str().unwrap();
    assert!(told.contains("b.txt:1 (comment 3): zero?") && !told.contains("comment 1"), "{told}");
    // The reviewer alone closes what no commit has answered.
    by("author", &["review", "resolve", "1", "--json"]).refuses(4, "not_creator");
    let refused =
        by("author", &["review", "resolve", "1", "--force", "--reason", "mine", "--json"]).refuses(4, "not_creator");
    assert_eq!(
        refused.error()["hint"],
        "the author of the work cannot do that; see its open comments: fairway review comments"
    );
    by("rosa", &["review", "resolve", "1"]).exits(0);
    world.run(["review", "resolve", "3", "--force", "--reason", "she is away"]).exits(0);
    assert_eq!(comments(&world), ["resolved a.txt:2", "answered a.txt:5", "resolved b.txt:1"]);
    assert_eq!(head(&world, &dir), tip);
    world.run(["land", "T-1"]).exits(0);
}

/// The commit of a comment outlives a rewritten branch and a collection of garbage, until its task is closed.
#[test]
fn commit_of_a_comment_is_kept_until_the_task_is_closed() {
    let world = reviewed();
    let commented = head(&world, &lane_dir(&world, "ui"));
    world.run(["--session", "rosa", "review", "comment", "T-1", "a.txt:2", "why two?"]).exits(0);
    world.run(["--session", "rosa", "review", "comment", "T-1", "a.txt:3", "and three?"]).exits(0);
    let dir = lane_dir(&world, "ui");
    world.git(&dir, &["reset", "--quiet", "--hard", "main"]);
    let tip = commit(&world, "ui", &[("a.txt", "0\n1\n2\nthree\n4\n5\n6\n")]);
    // Another commit of submitted work is submitted again, and the same one is not.
    let again = world.run(["--session", "author", "task", "submit", "T-1", "--commit", &tip]).exits(0).stdout;
    assert_eq!(again, format!("submitted T-1 again, at {}\n", &tip[..12]));
    let again = world.run(["--session", "author", "task", "submit", "T-1", "--commit", &tip]).exits(0).stdout;
    assert_eq!(again, "unchanged: T-1 is review already\n");
    world
        .run(["--session", "rosa", "task", "submit", "T-1", "--commit", &commented, "--json"])
        .refuses(4, "not_claimant");
    world.git(&world.root(), &["reflog", "expire", "--expire=now", "--all"]);
    world.git(&world.root(), &["gc", "--quiet", "--prune=now"]);
    world.git(&world.root(), &["cat-file", "-e", &commented]);
    assert_eq!(comments(&world), ["open a.txt:3", "answered a.txt:3"]);
    // A comment is no look at the work as a whole.
    assert_eq!(world.json(["--session", "rosa", "review", "next"])["card"]["changes"]["since"], Value::Null);
    world.run(["--session", "author", "task", "cancel", "T-1", "--reason", "no"]).exits(0);
    assert_eq!(world.git(&world.root(), &["for-each-ref", "refs/fairway"]), "");
}

/// What git cannot tell stays open.
#[test]
fn comment_on_a_commit_that_is_gone_stays_open() {
    let world = reviewed();
    world.run(["--session", "rosa", "review", "comment", "T-1", "a.txt:2", "why two?"]).exits(0);
    world.write_rows("UPDATE review_comments SET commit_id = '0123456789012345678901234567890123456789'");
    assert_eq!(comments(&world), ["open a.txt:2"]);
    world.run(["merge-ready", "T-1", "--json"]).exits(5);
}
