//! The short verbs of a day: each does what its long form does, and without an id takes the only thing that fits.

use serde_json::json;

use super::land::{NO_GATES, project, submitted};
use crate::common::{TestProject, fixtures};

fn reviewed() -> TestProject {
    let world = project(NO_GATES);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    submitted(&world, "ui", &[("a.txt", "one\n")]);
    world
}

#[test]
fn verdict_without_an_id_is_of_the_only_task_that_waits() {
    let world = reviewed();
    let card = world.json(["--session", "rosa", "review"]);
    assert_eq!(card["card"]["task"]["id"], json!("T-1"));
    assert_eq!(world.json(["--session", "rosa", "review", "T-1"])["card"]["task"]["id"], json!("T-1"));
    let text = world.run(["diff", "T-1"]).exits(0).stdout;
    assert!(text.contains("+one"), "{text}");
    assert_eq!(world.run(["diff"]).exits(0).stdout, text);
    assert_eq!(world.run(["lane", "diff", "ui"]).exits(0).stdout, text);
    world.run(["--session", "rosa", "changes", "see line 1"]).exits(0);
    let given = world.json(["review", "list", "T-1"]);
    assert_eq!((&given[0]["verdict"], &given[0]["notes"]), (&json!("changes"), &json!("see line 1")));
    let none = world.run(["--session", "rosa", "approve"]).exits(2);
    assert!(none.stderr.contains("no submitted task waits for you"), "{none:?}");
    world.run(["--session", "rosa", "approve", "T-1", "now it is right"]).exits(0);
    assert_eq!(world.json(["review", "list", "T-1"]).as_array().unwrap().last().unwrap()["verdict"], json!("approve"));
}

#[test]
fn verdict_without_an_id_names_the_tasks_where_several_wait() {
    let world = reviewed();
    submitted(&world, "api", &[("b.txt", "two\n")]);
    let refused = world.run(["--session", "rosa", "approve", "all of it"]).exits(2);
    assert!(refused.stderr.contains("which task? 2 wait for you: "), "{refused:?}");
    let hint =
        refused.stderr.lines().find_map(|line| line.strip_prefix("hint: name one: fairway ")).unwrap().to_owned();
    world.run(["--session", "rosa"].into_iter().chain(hint.split(' '))).exits(0);
    let refused = world.run(["diff"]).exits(2);
    let hint =
        refused.stderr.lines().find_map(|line| line.strip_prefix("hint: name one: fairway ")).unwrap().to_owned();
    world.run(hint.split(' ')).exits(0);
    // Inside a lane's worktree the lane is known.
    let mut inside = world.fairway(["diff"]);
    inside.current_dir(super::land::lane_dir(&world, "api"));
    let shown = String::from_utf8(inside.output().unwrap().stdout).unwrap();
    assert!(shown.contains("+two"), "{shown}");
}

/// A word that could be an id is never taken for a note: nothing is approved by a mistyped id.
#[test]
fn mistyped_id_is_no_note() {
    let world = reviewed();
    for typed in ["T1", "nice"] {
        world.run(["--session", "rosa", "approve", typed, "--json"]).refuses(3, "not_found");
    }
    let number = world.run(["--session", "rosa", "approve", "3"]).exits(2);
    assert!(number.stderr.contains("fairway approvals answer 3 allow"), "{number:?}");
    world.run(["--session", "rosa", "approve", "a note", "--notes", "another", "--json"]).refuses(2, "usage");
    world.run(["--session", "rosa", "approve", "T-1", "a", "b", "--json"]).refuses(2, "usage");
    assert_eq!(world.json(["review", "list", "T-1"]), json!([]));
    world.run(["diff", "T-9", "--json"]).refuses(3, "not_found");
    world.run(["diff", "nowhere", "--json"]).refuses(3, "not_found");
}

#[test]
fn task_is_added_and_lists_are_shown() {
    let world = TestProject::new();
    world.run(["add", "Fix the tax", "--priority", "1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["title"], json!("Fix the tax"));
    fixtures::add_session(&world, "s1", "dev", None);
    for (short, long) in [("agents", "session list --quiet"), ("jobs", "exec list --quiet")] {
        assert_eq!(world.run([short, "--quiet"]).exits(0).stdout, world.run(long.split(' ')).exits(0).stdout);
    }
}

#[test]
fn only_session_is_stopped_and_relaunched() {
    let world = TestProject::new();
    world.real_time();
    let none = world.run(["stop"]).exits(2);
    assert!(none.stderr.contains("no launched session runs here"), "{none:?}");
    let none = world.run(["relaunch"]).exits(2);
    assert!(none.stderr.contains("no session that is over has a claim"), "{none:?}");
    world.run(["add", "one"]).exits(0);
    let launch = |name: &str| {
        world
            .run(["session", "launch", "--role", "dev", "--backend", "shell", "--name", name, "--", "sleep", "300"])
            .exits(0);
    };
    launch("s1");
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    launch("s2");
    let refused = world.run(["stop"]).exits(2);
    assert!(refused.stderr.contains("which session? 2 run: s1, s2"), "{refused:?}");
    world.run(["stop", "s2"]).exits(0);
    world.run(["stop"]).exits(0);
    assert_eq!(world.json(["session", "show", "s1"])["status"], json!("ended"));
    world.run(["relaunch", "--", "sleep", "300"]).exits(0);
    world.run(["stop", "--all"]).exits(0);
}

#[test]
fn outside_a_project_setup_is_named() {
    let world = TestProject::uninitialized();
    let text = world.run::<&str>([]).exits(2).stdout;
    assert!(text.contains("fairway setup") && text.lines().count() <= 8, "{text}");
    let refused = world.run(["start", "Fix the tax"]).exits(3);
    assert!(refused.stderr.contains("hint: connect this repository and your agents: fairway setup"), "{refused:?}");
}

#[test]
fn help_of_a_short_verb_is_that_of_its_long_form() {
    let world = TestProject::uninitialized();
    for (short, long) in [("approve", "review record"), ("stop", "session stop"), ("diff", "lane diff")] {
        let page = world.run(long.split(' ').chain(["--help"])).exits(0).stdout;
        assert_eq!(world.run([short, "--help"]).exits(0).stdout, page);
        assert_eq!(world.run(["help", short]).exits(0).stdout, page);
    }
    let screen = world.run(["--help"]).exits(0).stdout;
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(world.run(["help", "--all"]).exits(0).stdout.contains("merge-ready"));
    for (asked, topic) in [("landing", "landing"), ("review", "reviews-and-gates")] {
        let refused = world.run(["guide", asked]);
        assert!(refused.code == Some(0) || refused.stderr.contains(topic), "{refused:?}");
    }
    let refused = world.run(["help", "landing"]).exits(2);
    assert!(refused.stderr.contains("hint: read the guide: fairway guide landing"), "{refused:?}");
}

#[test]
fn names_of_other_tools_lead_to_the_command() {
    let world = TestProject::new();
    for (typed, hint) in [
        ("merge T-1", "fairway land T-1"),
        ("reject T-1", "fairway review record T-1 --verdict reject"),
        ("review approve T-1", "fairway approve T-1"),
        ("rebase T-1", "fairway lane sync T-1"),
        ("task view T-1", "fairway task show T-1"),
        ("cost", "fairway usage"),
        ("status --watch", "fairway top"),
        ("status T-1", "fairway task show T-1"),
        ("add x --blocked-by T-1", "fairway task add x --depends-on T-1"),
        ("task list -a", "fairway task list --all"),
        ("start x --agent codex", "fairway start x --provider codex"),
        ("list -v", "fairway task list"),
        ("ready -v", "fairway --debug COMMAND"),
    ] {
        let refused = world.run(typed.split(' ')).exits(2);
        assert!(refused.stderr.contains(hint), "{typed}: {refused:?}");
    }
}
