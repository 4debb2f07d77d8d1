//! Work by tools leaves the same store as the same work by commands.

use std::collections::BTreeMap;

use regex::Regex;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::json;

use super::{Client, at_work};
use crate::common::TestProject;

/// Every row of every table, without what differs from run to run: times, random ids, and the world's directory.
fn dump(world: &TestProject) -> BTreeMap<String, Vec<String>> {
    let conn = Connection::open(world.store()).unwrap();
    let mut names = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let uuid = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
    let time =
        Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z|\b1[78]\d{11}\b|\bjob [0-9a-f]{8}\b|\bafter [\d.]+m?s\b")
            .unwrap();
    let took = Regex::new(r#""(duration_ms|pid|pid_started)":\d+"#).unwrap();
    let mut dumped = BTreeMap::new();
    // Indexes of text have tables of their own, whose rows follow from the others.
    for name in names.into_iter().filter(|name| !name.contains("_fts") && !name.starts_with("search")) {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let rows = statement.query_map([], |row| {
            let cells = columns.iter().enumerate().map(|(at, column)| {
                let text = match row.get::<_, Cell>(at).unwrap() {
                    Cell::Text(text) => text,
                    other => format!("{other:?}"),
                };
                let differs =
                    column.ends_with("_at") || column == "at" || column.ends_with("_ms") || column.starts_with("pid");
                format!("{column}={}", if differs { "·" } else { &text })
            });
            Ok(cells.collect::<Vec<_>>().join(" "))
        });
        let rows: Vec<String> = rows
            .unwrap()
            .map(|row| {
                let text = row.unwrap().replace(&*world.dir().to_string_lossy(), "[world]");
                let text = took.replace_all(&text, "took").into_owned();
                time.replace_all(&uuid.replace_all(&text, "[uuid]"), "[time]").into_owned()
            })
            .collect();
        dumped.insert(name, rows);
    }
    dumped
}

#[test]
fn tools_and_commands_leave_the_same_store() {
    let (by_tool, by_command) = (at_work(), at_work());
    for world in [&by_tool, &by_command] {
        world.run(["lane", "add", "ui"]).exits(0);
        for id in ["T-3", "T-4", "T-5"] {
            world.run(["task", "add", "--id", id, "More"]).exits(0);
        }
        world.run(["message", "send", "main is frozen", "--to-session", "s1"]).exits(0);
    }
    let mut client = Client::of_session(&by_tool, "s1");
    let mut both = |tool: &str, arguments: serde_json::Value, command: &[&str]| {
        let answered = client.call(tool, arguments);
        let mut run = by_command.fairway(["--json"].iter().chain(command));
        let run = run.env("FAIRWAY_SESSION_ID", "s1").output().unwrap();
        // `evidence run` exits with 7 when the program has failed, and that is a record.
        let is_refused = run.stdout.is_empty();
        assert_eq!(answered.is_error, is_refused, "{command:?}: {answered:#?}\n{run:#?}");
        if is_refused {
            let error: serde_json::Value = serde_json::from_slice(&run.stderr).unwrap();
            assert_eq!(answered.document, error, "{command:?}");
        }
    };
    both(
        "note",
        json!({ "text": "half done", "artifact": "out.log" }),
        &["note", "half done", "--artifact", "out.log"],
    );
    both("inbox", json!({}), &["inbox"]);
    both("inbox", json!({ "ack": true }), &["inbox", "--ack"]);
    both("finish", json!({ "how": "done" }), &["done", "T-1"]);
    both("verify", json!({ "check": "unit" }), &["evidence", "run", "T-1", "--check", "unit"]);
    both(
        "verify",
        json!({ "command": ["false"], "summary": "it fails", "kind": "lint" }),
        &["evidence", "run", "T-1", "--kind", "lint", "--summary", "it fails", "--", "false"],
    );
    both("verify", json!({ "check": "none" }), &["evidence", "run", "T-1", "--check", "none"]);
    both(
        "ask",
        json!({ "question": "which one?" }),
        &["checkpoint", "record", "T-1", "--state", "awaiting_input", "--summary", "which one?", "--owner", "person"],
    );
    both("finish", json!({ "how": "submit" }), &["task", "submit", "T-1"]);
    both("finish", json!({ "how": "done", "task": "T-1" }), &["done", "T-1"]);
    both("next", json!({ "claim": true, "task": "T-2" }), &["claim", "T-2"]);
    both(
        "finish",
        json!({ "how": "handoff", "to_role": "qa", "summary": "ready", "payload": "see the log" }),
        &["handoff", "create", "T-2", "--to-role", "qa", "--summary", "ready", "--payload", "see the log"],
    );
    both("finish", json!({ "how": "release", "reason": "no time" }), &["release", "T-2", "--reason", "no time"]);
    both("next", json!({ "claim": true }), &["claim"]);
    both("next", json!({ "claim": true, "task": "T-1" }), &["claim", "T-1"]);
    both("note", json!({ "text": "x".repeat(10_000) }), &["note", &"x".repeat(10_000)]);
    both(
        "run",
        json!({ "action": "spawn", "argv": ["true"], "yield_ms": 10_000 }),
        &["exec", "spawn", "--wait-for", "10s", "--", "true"],
    );
    both("overlap", json!({}), &["overlap"]);
    both("task", json!({ "task": "T-2" }), &["task", "show", "T-2"]);
    let (by_tool, by_command) = (dump(&by_tool), dump(&by_command));
    assert_eq!(by_tool.keys().collect::<Vec<_>>(), by_command.keys().collect::<Vec<_>>());
    assert!(by_tool["events"].len() > 20, "{:#?}", by_tool["events"]);
    for (table, rows) in &by_tool {
        assert_eq!(rows, &by_command[table], "{table}");
    }
}
