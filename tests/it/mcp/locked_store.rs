//! A store that cannot be written: each call is answered.

use std::collections::BTreeSet;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Answered, Client, at_work};

const CALLS: u64 = 1_000;

#[test]
fn thousand_calls_against_a_locked_store_are_all_answered() {
    let world = at_work();
    // The lock is waited for as always, but not for long.
    let impatient = |mut command: Command| {
        command.env("FAIRWAY_SESSION_ID", "s1").env("FAIRWAY_TEST_FAULT", "impatient");
        command
    };
    let mut client = Client::of(impatient(world.fairway(["mcp"])));
    let conn = Connection::open(world.store()).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    // All at once: nothing is read before everything is written.
    let tools = [("note", json!({ "text": "x" })), ("finish", json!({ "how": "submit" })), ("task", json!({}))];
    for number in 0..CALLS {
        let (name, arguments) = &tools[usize::try_from(number).unwrap() % tools.len()];
        let params = json!({ "name": name, "arguments": arguments });
        client.send(&json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }));
    }
    let mut answered = BTreeSet::new();
    for _ in 0..CALLS {
        let answer: Value = client.receive();
        let number = answer["id"].as_u64().unwrap();
        assert!(answered.insert(number), "{number} is answered twice");
        let said = Answered::of(&answer);
        match number % 3 {
            2 => drop(said.succeeds()),
            _ => {
                let refused = said.refuses("store_busy");
                assert_eq!(refused.document["error"]["retryable"], true);
            }
        }
    }
    conn.execute_batch("ROLLBACK").unwrap();
    client.call("note", json!({ "text": "after" })).succeeds();
    assert!(client.end().success());
    let notes = world.json(["checkpoint", "list", "T-1"]);
    assert_eq!(notes.as_array().unwrap().len(), 1, "{notes}");
}
