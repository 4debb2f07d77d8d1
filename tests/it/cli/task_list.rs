//! `fairway task list`: its filters, and what fits a screen.

use crate::common::TestProject;

const BACKLOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/backlog-677.jsonl");

fn ids(world: &TestProject, filter: &[&str]) -> Vec<String> {
    let found = world.json([&["task", "list"], filter].concat());
    found.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

fn shop() -> TestProject {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "Cart: the TOTAL", "--label", "money", "--role", "backend"]).exits(0);
    world.run(["task", "add", "T-2", "Delivery dates", "--body", "the total of days (a.b)"]).exits(0);
    world.run(["task", "add", "T-3", "Gift cards", "--label", "Total"]).exits(0);
    world.run(["task", "add", "T-4", "Users"]).exits(0);
    world.run(["task", "cancel", "T-3", "--reason", "no"]).exits(0);
    world
}

#[test]
fn grep_finds_literal_text_in_id_title_body_and_labels() {
    let world = shop();
    assert_eq!(ids(&world, &["--grep", "total"]), ["T-1", "T-2"]);
    assert_eq!(ids(&world, &["--grep", "TOTAL", "--all"]), ["T-1", "T-2", "T-3"]);
    assert_eq!(ids(&world, &["--grep", "t-4"]), ["T-4"]);
    assert_eq!(ids(&world, &["--grep", "A.B"]), ["T-2"]);
    assert_eq!(ids(&world, &["--grep", "a.t"]), Vec::<String>::new());
    assert_eq!(ids(&world, &["--grep", "total", "--role", "backend"]), ["T-1"]);
    assert_eq!(ids(&world, &["--grep", "total", "--label", "money"]), ["T-1"]);
    assert_eq!(ids(&world, &["--grep", "total", "--limit", "1"]), ["T-1"]);
    assert_eq!(ids(&world, &["--grep", ""]), ["T-1", "T-2", "T-4"]);
}

#[test]
fn task_list_all_lists_closed_tasks_too() {
    let world = shop();
    assert_eq!(ids(&world, &[]), ["T-1", "T-2", "T-4"]);
    for all in [&["--all"][..], &["--status", "all"], &["--status", "all", "--status", "todo"]] {
        assert_eq!(ids(&world, all), ["T-1", "T-2", "T-3", "T-4"], "{all:?}");
    }
    world.run(["claim", "T-1", "--any-role"]).exits(0);
    assert_eq!(ids(&world, &["--all", "--held"]), ["T-1"]);
    world.run(["task", "list", "--all", "--status", "done", "--json"]).refuses(2, "usage");
    world.run(["task", "list", "--status", "every", "--json"]).refuses(2, "usage");
}

/// A list of imported tasks with long ids at 80 columns: each id can be copied.
#[test]
fn search_in_a_large_backlog_keeps_ids_whole() {
    let world = TestProject::new();
    world.run(["task", "import", BACKLOG]).exits(0);
    let found = ids(&world, &["--all", "--grep", "refinery", "--limit", "20"]);
    assert_eq!(found.len(), 20);
    let shown = world
        .command("sh")
        .args(["-c", "COLUMNS=80 exec \"$@\"", "sh"])
        .arg(crate::common::test_project::FAIRWAY)
        .args(["task", "list", "--all", "--grep", "refinery", "--limit", "20"])
        .output()
        .unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    for (line, id) in text.lines().skip(1).zip(&found) {
        assert_eq!(line.split_whitespace().next(), Some(id.as_str()));
    }
    assert_eq!(text.lines().count(), found.len() + 1);
}

/// A colour repeats a word: without colours the same words stand there.
#[test]
fn status_words_have_colours_when_these_are_asked_for() {
    let world = shop();
    world.run(["claim", "T-1", "--any-role"]).exits(0);
    world.run(["task", "block", "T-1", "--reason", "rain"]).exits(0);
    let coloured = world.run(["task", "list", "--all", "--color", "always"]).exits(0).stdout;
    assert!(coloured.contains("T-1  2  \u{1b}[33mblocked\u{1b}[0m"), "{coloured}");
    assert!(coloured.contains("\u{1b}[2mcancelled\u{1b}[0m"), "{coloured}");
    let plain = world.run(["task", "list", "--all"]).exits(0).stdout;
    assert_eq!(coloured.replace("\u{1b}[33m", "").replace("\u{1b}[2m", "").replace("\u{1b}[0m", ""), plain);
}

/// One rule for every command that takes a limit.
#[test]
fn limit_of_zero_shows_all() {
    let world = TestProject::new();
    for number in 1..=25 {
        world.run(["task", "add", &format!("T-{number}"), "one"]).exits(0);
    }
    world.add_session("s1");
    for number in 0..3 {
        world.run(["send", "s1", &format!("text {number}")]).exits(0);
    }
    let count = |words: &[&str]| world.json(words.iter().copied()).as_array().map_or(0, Vec::len);
    for (words, all) in [
        (&["task", "list"][..], 25),
        (&["ready"], 25),
        (&["search", "one"], 25),
        (&["outbox"], 3),
        (&["exec", "list"], 0),
        (&["guard", "log"], 0),
    ] {
        let with = |limit: &'static str| [words, &["--limit", limit]].concat();
        assert_eq!(count(&with("0")), all, "{words:?}");
        assert_eq!(count(&with("2")), all.min(2), "{words:?}");
    }
}
