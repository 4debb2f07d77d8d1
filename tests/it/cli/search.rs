//! `fairway search`

use std::fs;

use serde_json::{Value, json};

use crate::common::terminal::at_terminal;
use crate::common::test_project::FAIRWAY;
use crate::common::{TestProject, fixtures};

/// A task with a record of each kind, two messages and a transcript; each names the tax.
fn world() -> TestProject {
    let world = TestProject::new();
    fixtures::add_lane(&world, "shop", None, None);
    fixtures::add_session(&world, "m1", "dev", Some("shop"));
    fixtures::add_session(&world, "m2", "dev", None);
    for line in [
        vec!["task", "add", "T-1", "Round the tax", "--lane", "shop", "--body", "a body"],
        vec!["task", "add", "T-2", "Other"],
        vec!["--session", "m1", "claim", "T-1"],
        vec!["--session", "m1", "note", "tax tables read"],
        vec!["evidence", "add", "T-1", "--result", "pass", "--summary", "tax tests"],
        vec!["--session", "m1", "handoff", "create", "T-1", "--to-role", "qa", "--summary", "tax ready"],
        vec!["review", "record", "T-1", "--verdict", "approve", "--notes", "the Tax is right"],
        vec!["message", "send", "--to-session", "m1", "mind the tax"],
        vec!["message", "send", "--to-session", "m2", "and the TAX office; API_KEY=tax1234567890"],
    ] {
        world.run(line).exits(0);
    }
    let lines = [
        json!({"type": "user", "timestamp": "2025-12-31T00:00:00Z", "message": {"content": "old tax question"}}),
        json!({"type": "assistant", "timestamp": "2026-02-01T00:00:00Z", "message": {"content": [{"text": "the newest \"tax\" answer"}]}}),
        json!({"type": "tax", "uuid": "tax"}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(world.root().join("m1.jsonl"), text).unwrap();
    set_transcript(&world, "m1", "m1.jsonl");
    world
}

fn set_transcript(world: &TestProject, session: &str, path: &str) {
    world.write_rows(&format!("UPDATE agent_sessions SET transcript = '{path}' WHERE id = '{session}'"));
}

/// The kinds and ids of the hits.
fn hits(world: &TestProject, args: &[&str]) -> Vec<String> {
    let found = world.json(["search"].iter().chain(args));
    let name = |hit: &Value| format!("{} {}", hit["kind"].as_str().unwrap(), hit["id"].as_str().unwrap());
    found.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn hits_of_every_kind_come_newest_first_with_masked_excerpts() {
    let world = world();
    assert_eq!(
        hits(&world, &["tax"]),
        [
            "transcript m1", "message 2", "message 1", "review 1", "handoff 1", "evidence 1", "checkpoint 1",
            "task T-1", "transcript m1"
        ]
    );
    let found = world.json(["search", "tax", "--limit", "2"]);
    assert_eq!(found[0]["excerpt"], "the newest \"tax\" answer");
    assert_eq!(
        (&found[0]["match_start"], &found[0]["match_end"], &found[0]["line"]),
        (&json!(12), &json!(15), &json!(2))
    );
    assert_eq!(found[0]["at"], "2026-02-01T00:00:00.000Z");
    assert_eq!((&found[0]["session_id"], &found[0]["lane"]), (&json!("m1"), &json!("shop")));
    assert_eq!(found[1]["excerpt"], "and the TAX office; API_KEY=•••");
    assert_eq!(found.as_array().unwrap().len(), 2);
    // A secret is not found by its characters.
    assert_eq!(hits(&world, &["tax123"]), [""; 0]);
    insta::assert_snapshot!(world.transcript(&["fairway search nowhere", "fairway search tables"]), @"
    $ fairway search nowhere
    no hits
    $ fairway search tables
    checkpoint 1  T-1  m1  2026-01-01 00:00:05
        tax tables read
    ");
}

#[test]
fn case_counts_with_an_upper_case_letter_and_expressions_are_read_with_regex() {
    let world = world();
    assert_eq!(hits(&world, &["Tax"]), ["review 1"]);
    assert_eq!(hits(&world, &["TAX"]), ["message 2"]);
    assert_eq!(hits(&world, &["t.x tables"]), [""; 0]);
    assert_eq!(hits(&world, &["--regex", "^t.x t"]), ["evidence 1", "checkpoint 1"]);
    for wrong in [vec!["search", ""], vec!["search", "-e", "("], vec!["search", "x", "--limit", "100001"]] {
        let run = world.run(wrong.iter().chain(&["--json"])).refuses(2, "invalid_value");
        assert!(run.stderr.contains("must") || run.stderr.contains("unclosed group"), "{run:?}");
    }
}

#[test]
fn conditions_select_hits_together() {
    let world = world();
    assert_eq!(hits(&world, &["tax", "--kind", "review", "--kind", "task"]), ["review 1", "task T-1"]);
    assert_eq!(hits(&world, &["tax", "--task", "T-2"]), [""; 0]);
    assert_eq!(hits(&world, &["tax", "--task", "T-1", "--kind", "transcript"]).len(), 2);
    assert!(!hits(&world, &["tax", "--task", "T-1"]).iter().any(|hit| hit.starts_with("message")));
    assert_eq!(hits(&world, &["tax", "--of-session", "m2"]), ["message 2"]);
    assert_eq!(
        hits(&world, &["tax", "--of-session", "m1"]),
        ["transcript m1", "message 1", "handoff 1", "checkpoint 1", "task T-1", "transcript m1"]
    );
    assert!(!hits(&world, &["tax", "--lane", "shop"]).contains(&"message 2".to_owned()));
    assert_eq!(hits(&world, &["tax", "--lane", "shop"]).len(), 8);
}

#[test]
fn transcripts_that_cannot_be_read_are_named_and_the_others_searched() {
    let world = world();
    set_transcript(&world, "m2", "gone.jsonl");
    let run = world.run(["search", "tax", "--kind", "transcript", "--quiet"]).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("transcript m1:2\ntranscript m1:1\n", ""));
    let run = world.run(["search", "tax", "--kind", "transcript"]).exits(0);
    assert!(
        run.stderr.starts_with("transcript not searched: ") && run.stderr.contains("gone.jsonl: No such file"),
        "{run:?}"
    );
    // A FIFO would be waited for.
    nix::unistd::mkfifo(&world.root().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    set_transcript(&world, "m2", "fifo");
    assert!(world.run(["search", "tax"]).exits(0).stderr.contains("fifo: is not a file"));
}

#[test]
fn match_is_marked_at_a_terminal_and_control_characters_are_escaped() {
    let world = world();
    fs::write(world.root().join("m2.log"), "red \u{1b}[31mtax\u{1b}[0m \u{1b}]0;title\u{7}\u{202e}end\r\n").unwrap();
    set_transcript(&world, "m2", "m2.log");
    let mut command = world.fairway(["search", "red tax"]);
    command.env("COLUMNS", "200");
    let run = at_terminal(command, &[]);
    assert!(run.screen.contains("\n    \u{1b}[31mred tax\u{1b}[0m"), "{run:?}");
    assert!(run.screen.contains("\\u{202e}end") && !run.screen.contains("\u{1b}]0;"), "{run:?}");
    let plain = world.run(["search", "red tax"]).exits(0).stdout;
    assert!(plain.contains("\n    red tax") && !plain.contains('\u{1b}'), "{plain}");
}

#[test]
fn session_does_not_find_messages_to_people() {
    let world = world();
    world.run(["send", "person:ann", "the tax letter"]).exits(0);
    assert!(hits(&world, &["tax letter"]).len() == 1);
    assert_eq!(hits(&world, &["tax letter", "--session", "m1"]), [""; 0]);
    assert_eq!(hits(&world, &["mind the tax", "--session", "m2"]), ["message 1"]);
}

/// Rows of thirty megabytes are searched in little memory.
#[test]
fn rows_of_a_large_store_are_streamed() {
    let world = world();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
         INSERT INTO tasks (id, title, body, status, priority, created_at, updated_at)
         SELECT 'L-' || i, 'task ' || i, hex(zeroblob(5000)), 'todo', 2, i, i FROM n;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO checkpoints (task_id, state, summary, created_at)
         SELECT 'L-' || (i % 1000 + 1), 'active', 'record ' || i || ' ' || hex(zeroblob(1000)), i FROM n;
         INSERT INTO events (at, kind, task_id, actor, data)
         SELECT 1, 'task.added', id, 'test', '{}' FROM tasks WHERE id LIKE 'L-%';",
    )
    .unwrap();
    drop(conn);
    let mut limited = world.command("sh");
    limited.args(["-c", "ulimit -v 140000; exec \"$0\" search 'record 77 ' --quiet", FAIRWAY]);
    let run = crate::common::test_project::CommandOutput::from(limited.output().unwrap()).exits(0);
    assert_eq!(run.stdout, "checkpoint 78\n");
    assert_eq!(hits(&world, &["record", "--limit", "3"]).len(), 3);
}
