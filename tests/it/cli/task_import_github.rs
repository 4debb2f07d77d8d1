//! `fairway task import --from github`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/github/issues.json");

fn issue(number: u64, title: &str, body: &str) -> Value {
    json!({
        "number": number, "title": title, "body": body, "labels": [{ "name": "bug" }],
        "url": format!("https://github.com/ann/shop/issues/{number}"), "state": "OPEN", "createdAt": "2026-01-05T09:00:00Z",
    })
}

fn import(world: &TestProject, issues: &Value, flags: &[&str]) -> CommandOutput {
    let words: Vec<&str> = ["task", "import", "--from", "github", "-", "--json"].iter().chain(flags).copied().collect();
    world.run_with_stdin(words, issues.to_string().as_bytes())
}

/// The counts of a report: imported, updated, unchanged, differing, skipped.
fn counts(report: &Value) -> Vec<u64> {
    let names = ["imported", "updated", "unchanged", "differing", "skipped"];
    names.iter().map(|name| report[name].as_u64().unwrap()).collect()
}

#[test]
fn issues_become_tasks_with_a_backlink_and_only_once() {
    let world = TestProject::new();
    fs::copy(EXAMPLE, world.root().join("issues.json")).unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task import --from github issues.json --dry-run",
        "fairway task list --all",
        "fairway task import --from github issues.json --label-role area:cart=backend --label-priority BUG=1",
        "fairway task import --from github issues.json",
        "fairway task import --from github issues.json --quiet",
        "fairway task list --all",
        "fairway task show gh-12",
        "fairway task import --from github issues.json --closed",
        "fairway task show gh-9",
        "fairway task import issues.json --closed",
        "fairway task import --from github issues.json --label-priority bug=9",
        "fairway task import --from github issues.json --label-role bug",
    ]), @"
    $ fairway task import --from github issues.json --dry-run
    would import 2 tasks (2 open); 1 skipped (closed)
    $ fairway task list --all
    no tasks
    $ fairway task import --from github issues.json --label-role area:cart=backend --label-priority BUG=1
    imported 2 tasks (2 open); 1 skipped (closed)
    $ fairway task import --from github issues.json
    imported 0 tasks; 2 tasks unchanged; 1 skipped (closed)
    $ fairway task import --from github issues.json --quiet
    $ fairway task list --all
    ID     P  STATUS  ROLE     LANE  HELD BY  TITLE
    gh-12  1  todo    backend  -     -        Cart: the total ignores the quantity
    gh-14  2  todo    -        -     -        Write down how prices are rounded
    $ fairway task show gh-12
    gh-12  Cart: the total ignores the quantity
    status      todo
    ready       yes
    priority    1
    role        backend
    labels      area:cart, bug
    created     2026-01-05 09:00:00
    updated     2026-01-05 09:00:00

    Three pens must cost three times a pen.

    `sh check.sh` passes when it does.

    Issue: https://github.com/ann/shop/issues/12

    AGO  BY  EVENT
    4s  [user]  imported from https://github.com/ann/shop/issues/12 as todo
    $ fairway task import --from github issues.json --closed
    imported 1 task (0 open); 2 tasks unchanged
    $ fairway task show gh-9
    gh-9  Dark mode
    status      cancelled
    ready       no
    priority    2
    created     2025-12-20 10:00:00
    updated     2025-12-20 10:00:00
    closed      2026-01-04 16:30:00

    Not now.

    Issue: https://github.com/ann/shop/issues/9

    AGO  BY  EVENT
    1s  [user]  imported from https://github.com/ann/shop/issues/9 as cancelled
    $ fairway task import issues.json --closed
    error: the following required arguments were not provided: --from <FORGE>
    hint: write it as: fairway task import --from <FORGE> --closed <FILE|->
    [exit 2]
    $ fairway task import --from github issues.json --label-priority bug=9
    error: invalid value 'bug=9' for '--label-priority <LABEL=N>': the priority must be from 0 to 4
    hint: read the help: fairway task import --help
    [exit 2]
    $ fairway task import --from github issues.json --label-role bug
    error: invalid value 'bug' for '--label-role <LABEL=ROLE>': must be a label, '=' and a value
    hint: read the help: fairway task import --help
    [exit 2]
    ");
}

/// A change made here stays, and a change of the issue comes; of a field that was changed in both, the task's value stays.
#[test]
fn repeated_import_follows_the_issue_and_keeps_what_was_changed_here() {
    let world = TestProject::new();
    let one = issue(1, "old title", "old body");
    assert_eq!(counts(&import(&world, &json!([one]), &[]).exits(0).json()), [1, 0, 0, 0, 0]);
    world.run(["task", "edit", "gh-1", "--title", "mine", "--priority", "0"]).exits(0);
    let events = world.run(["events", "--json"]).stdout;
    assert_eq!(counts(&import(&world, &json!([one]), &[]).exits(0).json()), [0, 0, 1, 0, 0]);
    assert_eq!(world.run(["events", "--json"]).stdout, events, "an unchanged issue writes nothing");

    // A new text waits, under a label, until a person looks at it; agents go on with the old one.
    let changed = issue(1, "old title", "new body");
    let planned = import(&world, &json!([changed]), &["--dry-run"]).exits(0).json();
    assert_eq!(world.run(["events", "--json"]).stdout, events);
    let run =
        world.run_with_stdin(["task", "import", "--from", "github", "-"], json!([changed]).to_string().as_bytes());
    assert_eq!(run.stdout, "imported 0 tasks; 1 task with a new text, for a person to look at; 1 task unchanged\n");
    assert_eq!(run.stderr, "gh-1 has another body in its issue: fairway task show gh-1\n");
    assert_eq!((&planned["awaiting"], &planned["issues"][0]["awaiting"]), (&json!(1), &json!(["body"])));
    let events = world.run(["events", "--json"]).stdout;
    assert_eq!(counts(&import(&world, &json!([changed]), &[]).exits(0).json()), [0, 0, 1, 0, 0]);
    assert_eq!(world.run(["events", "--json"]).stdout, events, "what waits already is not told again");
    world.run(["session", "upsert", "--id", "agent", "--role", "dev"]).exits(0);
    let by_agent = world.run(["--session", "agent", "task", "show", "gh-1"]).exits(0);
    assert!(by_agent.stdout.contains("old body") && !by_agent.stdout.contains("new body"), "{by_agent:?}");
    let task = world.json(["task", "show", "gh-1"]);
    assert_eq!(
        (&task["body"], &task["labels"]),
        (&json!("old body\n\nIssue: https://github.com/ann/shop/issues/1"), &json!(["bug", "issue-changed"]))
    );
    let status = world.json(["status"]);
    let item = status["needs_you"].as_array().unwrap().iter().find(|item| item["kind"] == "issue").unwrap();
    assert_eq!(item["commands"][0]["command"], "fairway task show gh-1", "{item}");
    let looked = world.run(["task", "show", "gh-1"]).exits(0);
    assert!(looked.stdout.contains("\nnew body\n") && looked.stdout.contains("> old body"), "{looked:?}");
    let task = world.json(["task", "show", "gh-1"]);
    assert_eq!((&task["title"], &task["priority"], &task["labels"]), (&json!("mine"), &json!(0), &json!(["bug"])));
    assert_eq!(task["body"], "new body\n\nIssue: https://github.com/ann/shop/issues/1");
    assert_eq!(counts(&import(&world, &json!([changed]), &[]).exits(0).json()), [0, 0, 1, 0, 0]);
    // What the issue takes back before anybody has looked is forgotten.
    import(&world, &json!([issue(1, "old title", "a trap")]), &[]).exits(0);
    assert_eq!(counts(&import(&world, &json!([changed]), &[]).exits(0).json()), [0, 1, 0, 0, 0]);
    assert_eq!(world.json(["task", "show", "gh-1"])["labels"], json!(["bug"]));

    let both = issue(1, "their title", "new body");
    for _ in 0..2 {
        let run =
            world.run_with_stdin(["task", "import", "--from", "github", "-"], json!([both]).to_string().as_bytes());
        assert_eq!(run.stderr, "gh-1 keeps its own title: changed here and in the issue\n", "{run:?}");
    }
    assert_eq!(world.json(["task", "show", "gh-1"])["title"], "mine");
    // Given up here, and the next import brings nothing back.
    world.run(["task", "edit", "gh-1", "--title", "their title"]).exits(0);
    assert_eq!(counts(&import(&world, &json!([both]), &[]).exits(0).json()), [0, 0, 1, 0, 0]);
    // What strangers wrote is data in an agent's context.
    world.run(["--session", "agent", "claim", "gh-1"]).exits(0);
    let prime = world.run(["--session", "agent", "prime"]).exits(0).stdout;
    assert!(prime.contains("\n  > their title\n") && prime.contains("\n  > new body\n"), "{prime}");
}

#[test]
fn closed_and_removed_tasks_stay_as_they_are() {
    let world = TestProject::new();
    let open = json!([issue(1, "one", ""), issue(2, "two", ""), issue(3, "three", "")]);
    import(&world, &open, &[]).exits(0);
    world.run(["task", "rm", "gh-2"]).exits(0);
    world.run(["task", "cancel", "gh-3", "--reason", "no"]).exits(0);
    let mut changed = json!([issue(1, "one", ""), issue(2, "new", ""), issue(3, "new", "")]);
    changed[0]["state"] = json!("CLOSED");
    let run =
        world.run_with_stdin(["task", "import", "--from", "github", "-"], changed.to_string().as_bytes()).exits(0);
    assert_eq!(run.stdout, "imported 0 tasks; 2 tasks unchanged; 1 skipped (removed here)\n");
    assert_eq!(run.stderr, "gh-1 is todo, and its issue is closed: fairway task cancel gh-1 --reason TEXT\n");
    let report = import(&world, &changed, &[]).exits(0).json();
    let of = |name: &str| -> Vec<Value> {
        report["issues"].as_array().unwrap().iter().map(|issue| issue[name].clone()).collect()
    };
    assert_eq!(of("reason"), [json!(null), json!("removed"), json!(null)]);
    assert_eq!(of("only_issue_closed"), [true, false, false]);
    assert_eq!(world.json(["task", "show", "gh-3"])["title"], "three");
    assert_eq!(world.json(["task", "show", "gh-1"])["status"], "todo");
}

/// Two repositories have an issue of one number; a store that was filled from an export has the addresses in its bodies.
#[test]
fn issue_is_known_by_its_address_and_not_by_its_number() {
    let (world, copy) = (TestProject::new(), TestProject::new());
    import(&world, &json!([issue(1, "shop", "")]), &[]).exits(0);
    let mut other = issue(1, "till", "");
    other["url"] = json!("https://github.com/ann/till/issues/1");
    let report = import(&world, &json!([other]), &[]).exits(0).json();
    assert_eq!(report["issues"][0]["task_id"], "gh-1-2");
    let mut renamed = other.clone();
    renamed["url"] = json!("https://GitHub.com/Ann/till/issues/1");
    assert_eq!(counts(&import(&world, &json!([renamed]), &[]).exits(0).json()), [0, 0, 1, 0, 0]);

    let exported = world.run(["task", "export"]).exits(0).stdout;
    copy.run_with_stdin(["task", "import", "-"], exported.as_bytes()).exits(0);
    let report = import(&copy, &json!([issue(1, "shop", ""), other, issue(2, "new", "")]), &[]).exits(0).json();
    assert_eq!(counts(&report), [1, 0, 2, 0, 0]);
}

/// Everyone who can open an issue writes these texts.
#[test]
fn hostile_texts_are_data() {
    let world = TestProject::new();
    let hostile = json!([
        issue(
            1,
            "--force \u{1b}]0;x\u{7} $(touch pwned)\nSTATUS\tdone",
            "a\u{0}\r\nIssue: https://github.com/ann/shop/issues/2"
        ),
        issue(2, "'; DROP TABLE tasks; --", &"é".repeat(140_000)),
        issue(3, &"t".repeat(9_000), ""),
    ]);
    let run =
        world.run_with_stdin(["task", "import", "--from", "github", "-"], hostile.to_string().as_bytes()).exits(0);
    assert_eq!(run.stdout, "imported 3 tasks (3 open)\n");
    let notes = "gh-1: control characters are replaced\ngh-2: its text is too long and is cut\n\
                 gh-3: its text is too long and is cut\n";
    assert_eq!(run.stderr, notes);
    assert!(!Path::new(&world.root()).join("pwned").exists());
    let task = world.json(["task", "show", "gh-1"]);
    assert_eq!(task["title"], "--force \u{fffd}]0;x\u{fffd} $(touch pwned) STATUS done");
    assert_eq!(counts(&import(&world, &hostile, &[]).exits(0).json()), [0, 0, 3, 0, 0]);
    let exported = world.run(["task", "export"]).exits(0).stdout;
    TestProject::new().run_with_stdin(["task", "import", "-"], exported.as_bytes()).exits(0);
}

#[test]
fn json_that_is_not_an_issue_is_left_out_and_named() {
    let world = TestProject::new();
    let good = issue(1, "t", "");
    let without = |keys: &[&str]| {
        let mut issue = issue(2, "t", "");
        for key in keys {
            issue.as_object_mut().unwrap().remove(*key);
        }
        issue
    };
    let with = |key: &str, value: Value| {
        let mut issue = issue(2, "t", "");
        issue[key] = value;
        issue
    };
    let odd = [
        with("url", json!("https://github.com/ann/shop/pull/2")),
        without(&["url", "state"]),
        json!({ "id": "A-1", "title": "a task" }),
        with("state", json!("MERGED")),
        with("createdAt", json!("yesterday")),
        with("title", json!(" ")),
        with("number", json!(-2)),
        with("number", json!(0)),
        good.clone(),
        json!(3),
    ];
    let lines = |issues: &[&Value]| {
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    // Where none can be read, the first one says why, with the way on.
    let mut said = String::new();
    for odd in odd.iter().filter(|one| **one != good) {
        let run = world.run_with_stdin(["task", "import", "--from", "github", "-", "--json"], lines(&[odd]).as_bytes());
        let error = run.refuses(2, "invalid_line").error();
        assert_eq!(error["details"]["line"], 1, "{error}");
        if let Some(hint) = error["hint"].as_str() {
            said.push_str(&format!("{}\n  {hint}\n", error["message"].as_str().unwrap()));
        }
    }
    insta::assert_snapshot!(said, @"
    line 1: issue 2 has no url, state
      ask the forge itself: fairway task import --from github
    line 1: the issue has no number, body, labels, url, state
      ask the forge itself: fairway task import --from github
    ");
    world.run_with_stdin(["task", "import", "--from", "github", "-", "--json"], b"").refuses(2, "invalid_line");
    assert_eq!(world.json(["task", "list", "--all"]), json!([]));
    let all: Vec<&Value> = [&good].into_iter().chain(&odd).collect();
    let dry =
        world.run_with_stdin(["task", "import", "--from", "github", "-", "--dry-run"], lines(&all).as_bytes()).exits(0);
    let run = world.run_with_stdin(["task", "import", "--from", "github", "-"], lines(&all).as_bytes()).exits(0);
    assert_eq!((dry.stdout.replace("would import", "imported"), dry.stderr), (run.stdout.clone(), run.stderr.clone()));
    insta::assert_snapshot!(run.stdout + &run.stderr, @"
    imported 1 task (1 open); 10 skipped
    skipped: line 3: issue 2 has no url, state
    skipped: line 4: the issue has no number, body, labels, url, state
    skipped: line 8: number is not a positive number
    skipped: line 9: number is not a positive number
    skipped: line 11: is not an issue: expected a JSON object
    skipped: line 2: issue 2: url 'https://github.com/ann/shop/pull/2' is not https://HOST/OWNER/REPOSITORY/issues/2
    skipped: line 5: issue 2: state 'MERGED' is neither OPEN nor CLOSED
    skipped: line 6: issue 2: createdAt 'yesterday' is not a time such as 2026-01-31T12:00:00Z
    skipped: line 7: issue 2: title must not be empty
    skipped: line 10: issue 1 is on line 1 already
    ");
    // The output of gh for a repository without open issues.
    assert_eq!(counts(&import(&world, &json!([]), &[]).exits(0).json()), [0, 0, 0, 0, 0]);
}
