//! Provider events: the whole table, in one transaction, or nothing of it.

use std::fs;

use serde_json::Value;

use super::{Sessions, eventually, text};
use crate::common::concurrent_start::race;
use crate::common::test_project::CommandOutput;

const X: [&str; 4] = ["--provider", "acme", "--external-session-id", "x1"];

#[track_caller]
fn event(world: &Sessions, state: &str, more: &[&str]) -> CommandOutput {
    world.run(["session", "event", "--json", "--state", state].iter().chain(&X).chain(more))
}

#[track_caller]
fn done(world: &Sessions, state: &str, more: &[&str]) -> Value {
    event(world, state, more).exits(0).json()
}

/// A world with two tasks; the first is claimed by a session that the provider knows as x1.
fn claimed() -> (Sessions, String) {
    let world = Sessions::new();
    for task in ["T-1", "T-2"] {
        world.run(["task", "add", task, "a task"]).exits(0);
    }
    let begun = done(&world, "started", &["--role", "backend", "--task-id", "T-1"]);
    let id = text(&begun["session"]["id"]);
    world.run(["claim", "T-1", "--session", &id]).exits(0);
    (world, id)
}

fn column(world: &Sessions, query: &str) -> Vec<String> {
    world.rows(query).into_iter().map(|row| row["it"].clone()).collect()
}

/// Everything in the store, row by row: what a refusal must leave as it is.
fn all(world: &Sessions) -> String {
    let tables = ["tasks", "claims", "agent_sessions", "checkpoints", "evidence", "handoffs", "requests", "events"];
    tables.map(|table| format!("{table}: {:?}", world.rows(&format!("SELECT * FROM {table}")))).join("\n")
}

#[test]
fn every_state_has_its_documented_effect() {
    // state; the session's status, activity and what it waits for; the checkpoint
    for (state, status, activity, waits_for, checkpoint) in [
        ("started", "running", "unknown", "", "active"),
        ("running", "running", "busy", "", ""),
        ("waiting_on_approval", "running", "requires_action", "approval: words", "awaiting_input"),
        ("waiting_on_input", "running", "requires_action", "input: words", "awaiting_input"),
        ("completed", "ended", "unknown", "", "done"),
        ("failed", "failed", "unknown", "", "blocked"),
        ("no_progress", "stale", "unknown", "", "awaiting_input"),
        ("stale", "stale", "unknown", "", "awaiting_input"),
    ] {
        let (world, id) = claimed();
        let queue = world.queue();
        let before = column(&world, "SELECT max(id) AS it FROM checkpoints");
        let answer = done(&world, state, &["--summary", "words", "--backend", "somewhere"]);
        let session = world.session(&id);
        assert_eq!(
            [&session["status"], &session["activity"], &session["waiting_for"], &session["backend"]],
            [status, activity, waits_for, "somewhere"],
            "{state}"
        );
        let new = format!("SELECT state || ' ' || session_id AS it FROM checkpoints WHERE id > {}", before[0]);
        let wanted = if checkpoint.is_empty() { vec![] } else { vec![format!("{checkpoint} {id}")] };
        assert_eq!(column(&world, &new), wanted, "{state}");
        assert_eq!(answer["checkpoint"]["state"].as_str().unwrap_or_default(), checkpoint, "{state}");
        assert_eq!(answer["created"], false);
        // Never a claim, never a status.
        assert_eq!(world.queue(), queue, "{state}");
        let evidence = column(&world, "SELECT kind || observed || result || session_id AS it FROM evidence");
        let wanted = if state == "completed" { vec![format!("provider0pass{id}")] } else { vec![] };
        assert_eq!(evidence, wanted, "{state}");
        // The record is of the session, also in the log.
        let of = "SELECT DISTINCT session_id AS it FROM events WHERE kind LIKE '%recorded'";
        assert_eq!(column(&world, of), [id], "{state}");
    }
}

#[test]
fn start_says_which_conversation_and_where_it_is_written() {
    let (world, id) = claimed();
    done(&world, "started", &["--transcript", "logs/x1.log"]);
    let path = format!("{}/logs/x1.log", world.root().display());
    let rows = world.rows("SELECT * FROM checkpoints ORDER BY id DESC LIMIT 1");
    assert_eq!(rows[0]["summary"], format!("started; acme session x1, transcript {path}"));
    assert_eq!((&rows[0]["artifact"], &world.session(&id)["transcript"]), (&path, &path));
}

#[test]
fn provider_event_passes_no_gate() {
    let (world, id) = claimed();
    fs::write(world.root().join("result.txt"), "all fine").unwrap();
    let answer = done(&world, "completed", &["--artifact", "result.txt"]);
    assert_eq!(answer["evidence"]["observed"], false);
    assert_eq!(answer["evidence"]["kind"], "provider");
    assert_eq!(answer["evidence"]["sha256"].as_str().map(str::len), Some(64));
    let refused = world.run(["task", "done", "T-1", "--json", "--session", &id]);
    refused.refuses(5, "gate_blocked");
    // It can go red: another kind of evidence passes.
    world.run(["evidence", "add", "T-1", "--result", "pass"]).exits(0);
    world.run(["task", "done", "T-1", "--session", &id]).exits(0);
}

#[test]
fn handoff_stands_in_for_evidence_and_moves_nothing() {
    let (world, id) = claimed();
    let queue = world.queue();
    let answer = done(&world, "completed", &["--summary", "please look", "--handoff-to", "qa"]);
    assert_eq!(answer["evidence"], Value::Null);
    assert_eq!(
        (answer["handoff"]["to_role"].as_str(), answer["handoff"]["status"].as_str()),
        (Some("qa"), Some("open"))
    );
    let made = world.rows("SELECT * FROM handoffs").pop().unwrap();
    assert_eq!([&made["from_role"], &made["from_actor"], &made["epoch"]], ["backend", &id, "1"]);
    assert_eq!(world.queue(), queue);
    assert_eq!(column(&world, "SELECT count(*) AS it FROM evidence"), ["0"]);
}

#[test]
fn refused_event_writes_nothing() {
    let (world, id) = claimed();
    let before = all(&world);
    for (state, more, exit, code) in [
        ("running", ["--task-id", "T-2"], 4, "session_mismatch"),
        ("running", ["--role", "qa"], 4, "session_mismatch"),
        ("running", ["--task-id", "T-9"], 3, "not_found"),
        ("running", ["--lane", "nowhere"], 3, "not_found"),
        ("running", ["--session", "nobody"], 3, "not_found"),
        ("running", ["--handoff-to", "qa"], 2, "usage"),
        ("running", ["--external-session-id", "x2"], 2, "usage"),
        ("nothing", ["--role", "backend"], 2, "usage"),
        ("completed", ["--summary", "a\u{1b}[2Jb"], 2, "invalid_value"),
        ("completed", ["--epoch", "7"], 4, "stale_claim"),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            // A later flag of the same name stands.
            let words = ["session", "event", "--json", "--state", state, "--provider", "acme"];
            let external = if more[0] == "--external-session-id" { &[][..] } else { &X[2..] };
            world.run(words.iter().chain(external).chain(&more).chain(dry)).refuses(exit, code);
            assert_eq!(all(&world), before, "{state} {more:?}");
        }
    }
    // Somebody else has the task by now: the session's records are stale, its life is not.
    world.run(["claim", "T-1", "--steal", "--reason", "it sleeps"]).exits(0);
    let before = all(&world);
    for state in ["completed", "failed", "stale", "waiting_on_input"] {
        event(&world, state, &[]).refuses(4, "stale_claim");
    }
    assert_eq!(all(&world), before);
    done(&world, "running", &[]);
    // A closed task is not handed over.
    world.run(["task", "cancel", "T-2", "--reason", "no"]).exits(0);
    let other = ["--external-session-id", "x2", "--role", "backend", "--task-id", "T-2", "--handoff-to", "qa"];
    let before = all(&world);
    let call = ["session", "event", "--json", "--provider", "acme", "--state", "completed"];
    world.run(call.iter().chain(&other)).refuses(4, "wrong_state");
    world.run(call.iter().chain(&other[..4]).chain(&["--handoff-to", "qa"])).refuses(2, "usage");
    assert_eq!(all(&world), before);
    assert_eq!(world.session(&id)["status"], "running");
}

#[test]
fn ended_conversation_restarts_only_with_a_start() {
    for end in ["completed", "failed"] {
        let (world, id) = claimed();
        done(&world, end, &[]);
        let before = all(&world);
        for state in ["running", "waiting_on_input", "completed", "failed", "stale", "no_progress"] {
            event(&world, state, &["--role", "backend"]).refuses(4, "session_final");
        }
        event(&world, "started", &["--id", &id]).refuses(4, "session_final");
        event(&world, "started", &[]).refuses(2, "usage");
        assert_eq!(all(&world), before);
        let anew = done(&world, "started", &["--role", "backend"]);
        assert_eq!(anew["created"], true);
        assert_ne!(text(&anew["session"]["id"]), id);
        assert_eq!(world.session(&id)["status"], if end == "failed" { "failed" } else { "ended" });
        // From here on, the name means the new one.
        assert_eq!(done(&world, "running", &[])["session"]["id"], anew["session"]["id"]);
    }
}

#[test]
fn next_event_revives_a_stale_session() {
    for sign in ["running", "started", "waiting_on_input"] {
        let (world, id) = claimed();
        done(&world, "no_progress", &["--summary", "the same line for an hour"]);
        assert_eq!(world.session(&id)["reason"], "reported no_progress: the same line for an hour");
        done(&world, sign, &[]);
        assert_eq!((&*world.session(&id)["status"], &*world.session(&id)["reason"]), ("running", ""));
        assert_eq!(column(&world, "SELECT count(*) AS it FROM events WHERE kind = 'session.revived'"), ["1"]);
    }
}

#[test]
fn repeated_event_id_changes_nothing() {
    let (world, _) = claimed();
    let words = ["--summary", "done", "--event-id", "turn-7"];
    let first = done(&world, "completed", &words);
    let before = all(&world);
    // Also from elsewhere, and after the session has ended.
    assert_eq!(done(&world, "completed", &words), first);
    assert_eq!(done(&world, "completed", &[&words[..], &["--as", "lead", "--request-id", "r-1"]].concat()), first);
    let rows = "SELECT (SELECT count(*) FROM checkpoints) || '/' || (SELECT count(*) FROM evidence) AS it";
    assert_eq!(column(&world, rows), ["2/1"]);
    let requests = column(&world, "SELECT id AS it FROM requests ORDER BY id");
    assert_eq!(requests, ["event acme x1 turn-7", "r-1"]);
    event(&world, "failed", &words).refuses(2, "request_reused");
    event(&world, "completed", &["--summary", "other", "--event-id", "turn-7"]).refuses(2, "request_reused");
    // Another session's event of that id, and a caller's own request of that id, are others.
    let other = ["--external-session-id", "x2", "--role", "r", "--event-id", "turn-7"];
    world.run(["session", "event", "--state", "started", "--provider", "acme"].iter().chain(&other)).exits(0);
    world.run(["task", "add", "T-3", "t", "--request-id", "turn-7"]).exits(0);
    // Without an id it is the end of something that has ended.
    event(&world, "completed", &["--summary", "done"]).refuses(4, "session_final");
    assert!(all(&world).len() > before.len());
}

#[test]
fn eight_parallel_repeats_have_one_effect() {
    let (world, _) = claimed();
    let told = race(8, |_| {
        world.fairway(["session", "event", "--state", "completed", "--event-id", "e", "--json"].iter().chain(&X))
    });
    assert!(told.iter().all(|run| run.status.success() && run.stdout == told[0].stdout));
    assert_eq!(column(&world, "SELECT count(*) AS it FROM evidence"), ["1"]);
}

#[test]
fn dry_run_answers_the_same_and_writes_nothing() {
    let (world, id) = claimed();
    for state in ["started", "running", "waiting_on_input", "completed", "failed", "stale"] {
        let before = world.everything();
        let answer = done(&world, state, &["--dry-run", "--event-id", "e"]);
        assert_eq!(answer["dry_run"], true);
        assert_eq!(text(&answer["session"]["id"]), id);
        assert_eq!(world.everything(), before, "{state}");
        let copy = claimed().0;
        let real = done(&copy, state, &["--event-id", "e"]);
        let other = text(&real["session"]["id"]);
        assert_eq!(answer["effects"].to_string(), real["effects"].to_string().replace(&other, &id), "{state}");
    }
}

#[test]
fn session_without_a_task_is_all_that_is_written() {
    let world = Sessions::new();
    let run = world.run(["session", "event", "--state", "completed", "--role", "r"].iter().chain(&X)).exits(0);
    assert!(run.stdout.contains("new session") && run.stdout.contains("ended"), "{}", run.stdout);
    assert!(run.stderr.contains("the session has no task"), "{}", run.stderr);
    assert_eq!(column(&world, "SELECT count(*) AS it FROM checkpoints"), ["0"]);
}

/// A watcher in somebody's session must not end the one who watches.
#[test]
fn event_about_another_leaves_the_acting_session_alone() {
    let (world, worker) = claimed();
    let lead = ["--id", "lead", "--role", "lead", "--provider", "acme"];
    world.run(["session", "upsert"].iter().chain(&lead)).exits(0);
    let as_lead = ["--session", "lead"];
    done(&world, "completed", &as_lead);
    assert_eq!(world.session(&worker)["status"], "ended");
    let lead = world.session("lead");
    assert_eq!((&*lead["status"], &*lead["external_session_id"]), ("running", ""));
    // An unknown conversation of another role is a new session.
    let other = ["--external-session-id", "x2", "--role", "backend", "--session", "lead"];
    world.run(["session", "event", "--state", "failed", "--provider", "acme"].iter().chain(&other)).exits(0);
    assert_eq!(world.session("lead")["status"], "running");
}

/// A hook inside a launched session speaks for that session, before the provider's id is known.
#[test]
fn unknown_conversation_is_the_acting_sessions_when_all_fits() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    let be = ["--id", "be-1", "--role", "backend", "--provider", "acme", "--task-id", "T-1"];
    world.run(["session", "upsert"].iter().chain(&be)).exits(0);
    let answer = done(&world, "waitingOnUserInput", &["--session", "be-1", "--summary", "which port?"]);
    assert_eq!(
        (text(&answer["session"]["id"]), text(&answer["session"]["external_session_id"])),
        ("be-1".into(), "x1".into())
    );
    // An old run of that name is not heard.
    let run = "00000000-0000-7000-8000-00000000000b";
    let mut call = world.fairway(["session", "event", "--json", "--state", "completed"].iter().chain(&X));
    let refused = call.env("FAIRWAY_SESSION_ID", "be-1").env("FAIRWAY_RUN_ID", run).output().unwrap();
    CommandOutput::from(refused).refuses(4, "session_mismatch");
    // Once it has ended, its late words are refused, not taken for somebody new.
    world.run(["session", "upsert", "--id", "be-2", "--role", "backend", "--provider", "acme"]).exits(0);
    world.run(["session", "end", "be-2"]).exits(0);
    let late = ["--external-session-id", "x3", "--role", "backend", "--session", "be-2"];
    let call = ["session", "event", "--json", "--state", "waiting_on_input", "--provider", "acme"];
    world.run(call.iter().chain(&late)).refuses(4, "session_final");
}

#[test]
fn program_that_was_launched_tells_of_itself() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    let tell = "\"$FAIRWAY_BIN\" session event --provider acme --external-session-id x1 --state";
    let go = world.dir().join("go").display().to_string();
    let program = format!("{tell} started; until [ -e '{go}' ]; do sleep 0.05; done; {tell} completed; exec sleep 300");
    let flags = ["--role", "backend", "--provider", "acme", "--task-id", "T-1"];
    let id = text(&world.launch(&[&flags[..], &["--", "sh", "-c", &program]].concat())["id"]);
    eventually("its first word", || (world.session(&id)["external_session_id"] == "x1").then_some(()));
    assert_eq!(world.session(&id)["status"], "running");
    fs::write(&go, "").unwrap();
    eventually("its last word", || (world.session(&id)["status"] == "ended").then_some(()));
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 1);
    assert_eq!(column(&world, "SELECT session_id AS it FROM evidence"), std::slice::from_ref(&id));
    // Its report does not stop it; `session stop` does.
    let run = world.session(&id)["run_id"].clone();
    assert!(!super::marked(&run).unwrap().is_empty());
    world.run(["session", "stop", &id]).exits(0);
    assert!(super::marked(&run).unwrap().is_empty());
}

#[test]
fn text_comes_through_stdin_and_secrets_are_masked() {
    let (world, _) = claimed();
    let words = "curl -H 'Authorization: Bearer abcdefghijklmnop1234' $(touch canary) `id`;\n";
    let args = ["session", "event", "--state", "waitingOnApproval", "--summary", "-"];
    world.run_with_stdin(args.iter().chain(&X), words.as_bytes()).exits(0);
    let rows = world.rows("SELECT * FROM checkpoints ORDER BY id DESC LIMIT 1");
    assert!(rows[0]["summary"].starts_with("curl -H 'Authorization: Bearer •••"), "{}", rows[0]["summary"]);
    assert!(rows[0]["summary"].ends_with("$(touch canary) `id`;"));
    assert!(!all(&world).contains("abcdefghijklmnop1234"));
    assert!(!world.root().join("canary").exists());
    // No words at all are none.
    world.run_with_stdin(args.iter().chain(&X), b"\n").exits(0);
    let rows = world.rows("SELECT * FROM checkpoints ORDER BY id DESC LIMIT 1");
    assert_eq!(rows[0]["summary"], "waits for an approval");
}
