//! `session launch` once more: a repeated request, a name that is taken, a race for one.

use fairway_core::os::process_tree;
use serde_json::{Value, json};

use super::{Sessions, eventually, text};

#[test]
fn repeated_request_starts_nothing_twice() {
    let world = Sessions::new();
    let launch = |id: &str, words: &[&str]| {
        let flags = ["session", "launch", "--json", "--request-id", id, "--role", "r", "--"];
        world.run(flags.iter().chain(words))
    };
    let first = launch("a", &["sleep", "300"]).exits(0).json();
    let again = launch("a", &["sleep", "300"]).exits(0).json();
    assert_eq!(first, again);
    launch("a", &["sleep", "301"]).refuses(2, "request_reused");
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 1);
    world.run(["session", "stop", &text(&first["id"])]).exits(0);
    // One that is known to have failed may be tried again.
    launch("b", &["false"]).refuses(7, "program_failed");
    launch("b", &["false"]).refuses(7, "program_failed");
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 3);
    // One that was cut off is not.
    let id = text(&launch("c", &["sleep", "300"]).exits(0).json()["id"]);
    let answer: Value = serde_json::from_str(&world.value("SELECT answer FROM requests WHERE id = 'c'")).unwrap();
    let answer = Value::Object(
        answer.as_object().unwrap().clone().into_iter().chain([("line".to_owned(), "intended".into())]).collect(),
    );
    let answer = answer.to_string().replace('\'', "''");
    world.write_rows(&format!(
        "UPDATE agent_sessions SET status = 'starting' WHERE id = '{id}'; \
         UPDATE requests SET answer = '{answer}' WHERE id = 'c'"
    ));
    let cut = launch("c", &["sleep", "300"]).refuses(7, "launch_failed").error();
    assert_eq!(cut["retryable"], true);
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 4);
    world.run(["session", "stop", &id]).exits(0);
}

/// Cut off after its intention, settled by reconcile: the repeat must not say that it was launched.
#[test]
fn repeat_of_an_interrupted_launch_does_not_claim_success() {
    let world = Sessions::new();
    let script = world.script(
        "never",
        "#!/bin/sh\ncase $1 in start) exec sleep 600 ;; is-running) echo false ;; *) exit 2 ;; esac\n",
    );
    let backend = format!("exec:{}", script.display());
    let words = [
        "session", "launch", "--role", "r", "--name", "s1", "--backend", &backend, "--request-id", "R-1", "--", "true",
    ];
    let mut launch = world.fairway(words).spawn().unwrap();
    eventually("the intention", || (!world.rows("SELECT id FROM agent_sessions").is_empty()).then_some(()));
    launch.kill().unwrap();
    launch.wait().unwrap();
    let run = world.session("s1")["run_id"].clone();
    world.write_rows("UPDATE agent_sessions SET started_at = 0 WHERE id = 's1'");
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(world.session("s1")["status"], "stale");
    world.run(words[..10].iter().chain(&["--json"]).chain(&words[10..])).refuses(7, "launch_failed");
    let _ = process_tree::terminate(std::time::Duration::ZERO, || {
        process_tree::with_env_entry(&format!("FAIRWAY_LAUNCH={run}"))
    });
}

#[test]
fn session_name_is_never_given_twice() {
    let world = Sessions::new();
    let launch = |name: &str, words: &[&str]| {
        world.run(["session", "launch", "--json", "--role", "r", "--name", name, "--"].iter().chain(words))
    };
    launch("s1", &["true"]).exits(0);
    // The id of an ended session is history: the next one gets a number.
    let second = launch("s1", &["sleep", "300"]).exits(0);
    let note = "session s1 has ended; the new session is s1-2";
    assert_eq!(second.stderr, format!("{note}\n"));
    let second = second.json();
    assert_eq!(
        (&second["id"], &second["requested_id"], &second["notes"]),
        (&"s1-2".into(), &"s1".into(), &json!([note]))
    );
    assert_eq!(world.json(["session", "launch", "--role", "r", "--name", "s1", "--dry-run"])["session"]["id"], "s1-3");
    assert_eq!(world.session("s1")["status"], "ended");
    launch("s1-2", &["true"]).refuses(4, "exists");
    assert_eq!(world.launch(&["--role", "r", "--name", "s1-3", "--", "true"])["requested_id"], Value::Null);
    assert_eq!(launch("s1", &["true"]).exits(0).json()["id"], "s1-4");
    world.run(["session", "stop", "s1-2"]).exits(0);
    let (one, two) = (world.launch(&["--role", "r", "--", "true"]), world.launch(&["--role", "r", "--", "true"]));
    assert_ne!(one["id"], two["id"]);
    assert!(text(&one["id"]).starts_with("r-shell-"), "{one}");
}

#[test]
fn eight_racing_launches_of_one_name_succeed_once() {
    let world = Sessions::new();
    let launch = |_| world.fairway(["session", "launch", "--role", "r", "--name", "s1", "--", "sleep", "300"]);
    let runs = crate::common::concurrent_start::race(8, launch);
    let with = |code| runs.iter().filter(|run| run.status.code() == Some(code)).count();
    assert_eq!((with(0), with(4)), (1, 7), "{runs:#?}");
    world.run(["session", "stop", "s1"]).exits(0);
}
