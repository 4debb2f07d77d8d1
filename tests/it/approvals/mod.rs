//! Approvals: a hook asks and waits, a person answers, the provider goes on.

mod watch;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairway_actions::App;
use fairway_actions::agents::approval;
use fairway_core::domain::{Actor, RunId, SessionId};
use fairway_core::env::Env;
use serde_json::{Value, json};

use crate::common::reexec::{part, part_dir, reexec};
use crate::common::{self, TestProject, invariants};
use crate::sessions::eventually;

const CANARY: &str = "sk-canary0123456789abcdef";

/// The use cases as a hook of the session `s1` calls them.
fn app(root: PathBuf) -> App {
    let env = Env::from_process();
    common::app::app(&root, env, Actor { run_id: Some(RunId::parse("run-s1")), ..common::app::session("s1") })
}

/// The part of a hook: asks, waits so many milliseconds as its part says, and prints what came of it.
fn run_part(part: &str) {
    let app = app(part_dir());
    let session = app.read(|tx| fairway_actions::core::lookup::session(tx, &SessionId::parse("s1")?)).unwrap();
    let input = json!({ "command": format!("deploy --token {CANARY}"), "API_KEY": CANARY });
    let (id, _awaited) = approval::request(&app, &session, "acme", "Bash", &input, approval::Waits::Hook).unwrap();
    let answered = approval::wait(&app, id, Duration::from_millis(part.parse().unwrap())).unwrap();
    // The test harness writes to stdout as well.
    eprintln!("\nanswer: {answered:?}");
}

/// A hook of the session `s1` that waits so long for its answer.
fn hook(world: &TestProject, test: &str, millis: u32) -> Child {
    let mut command: Command = reexec(world, test, &millis.to_string(), &world.root());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn decision(hook: Child) -> String {
    let output = hook.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines().find_map(|line| line.strip_prefix("answer: ")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// Until one approval is there; the one.
fn wait_for_approval(world: &TestProject) -> Value {
    eventually("an approval", || world.json(["approvals", "list"]).as_array()?.last().cloned())
}

fn session(world: &TestProject) -> Value {
    world.json(["session", "show", "s1"])
}

fn kinds(world: &TestProject) -> Vec<String> {
    let events = world.run(["events", "--json"]).exits(0);
    let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned();
    events.stdout.lines().map(kind).filter(|kind| kind.starts_with("approval.")).collect()
}

fn world() -> TestProject {
    let world = TestProject::new();
    world.real_time();
    world.add_session("s1");
    world
}

#[test]
fn answer_wakes_the_hook_that_waits_for_it() {
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    for (answer, expected) in [
        ("allow", "Some(ApprovalDecision { allow: true, reason: Some(\"go on\") })"),
        ("deny", "Some(ApprovalDecision { allow: false, reason: Some(\"go on\") })"),
    ] {
        let hook = hook(&world, "approvals::answer_wakes_the_hook_that_waits_for_it", 60_000);
        let approval = wait_for_approval(&world);
        assert_eq!(approval["input"]["command"], "deploy --token •••", "secrets are masked: {approval}");
        assert_eq!((&approval["tool"], &approval["provider"]), (&json!("Bash"), &json!("acme")));
        let waits = session(&world);
        assert_eq!(waits["activity"], "requires_action");
        assert_eq!(waits["waiting_for"], "permission: Bash: deploy --token •••");
        let id = approval["id"].to_string();
        world.run(["--session", "s1", "approvals", "answer", &id, "allow", "--json"]).refuses(5, "own_approval");
        world.run(["approvals", "answer", &id, answer, "--reason", "go on"]).exits(0);
        assert_eq!(decision(hook), expected);
        let goes_on = session(&world);
        assert_eq!((&goes_on["activity"], &goes_on["waiting_for"]), (&json!("busy"), &Value::Null));
    }
    assert_eq!(kinds(&world), ["approval.asked", "approval.answered", "approval.asked", "approval.answered"]);
    assert!(!String::from_utf8_lossy(&std::fs::read(world.store()).unwrap()).contains(CANARY));
}

#[test]
fn approval_needs_a_person_until_it_is_answered() {
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    let needs = || world.json(["status"])["needs_you"].clone();
    assert_eq!(needs(), json!([]));
    let hook = hook(&world, "approvals::approval_needs_a_person_until_it_is_answered", 60_000);
    let id = wait_for_approval(&world)["id"].to_string();
    let shown = needs();
    assert_eq!(shown.as_array().unwrap().len(), 1, "the approval alone, and no question besides: {shown}");
    let need = &shown[0];
    assert_eq!((&need["id"], &need["kind"]), (&json!(format!("approval:{id}")), &json!("approval")));
    assert_eq!((&need["session_id"], &need["line"]), (&json!("s1"), &json!("Bash: deploy --token •••")));
    assert_eq!(need["since"], world.json(["approvals", "list"])[0]["asked_at"]);
    let command = need["commands"][0]["command"].as_str().unwrap();
    assert_eq!(command, format!("fairway approvals answer {id} allow"));
    assert!(world.run(["status"]).exits(0).stdout.contains(command));
    world.run(command.split(' ').skip(1)).exits(0);
    assert_eq!(needs(), json!([]), "answered anywhere is gone everywhere");
    assert!(world.run(["status"]).exits(0).stdout.starts_with("nothing needs you\n"));
    decision(hook);
}

#[test]
fn unanswered_approval_returns_to_the_provider() {
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    let hook = hook(&world, "approvals::unanswered_approval_returns_to_the_provider", 1);
    assert_eq!(decision(hook), "None");
    let approval = wait_for_approval(&world);
    assert_eq!((&approval["status"], &approval["answerable"]), (&json!("pending"), &json!(false)));
    let id = approval["id"].to_string();
    world.run(["approvals", "answer", &id, "allow", "--json"]).refuses(5, "not_answerable");
    assert_eq!(session(&world)["activity"], "requires_action", "the person is asked by the provider now");
    // The session is over: so is what it asked.
    world.run(["session", "end", "s1"]).exits(0);
    world.run(["approvals", "answer", &id, "allow", "--json"]).refuses(4, "approval_lapsed");
    assert_eq!(kinds(&world), ["approval.asked", "approval.lapsed"]);
}

#[test]
fn provider_activity_ends_the_wait() {
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    let hook = hook(&world, "approvals::provider_activity_ends_the_wait", 60_000);
    let id = wait_for_approval(&world)["id"].to_string();
    let app = app(world.root());
    let session = app.read(|tx| fairway_actions::core::lookup::session(tx, &SessionId::parse("s1")?)).unwrap();
    // Another tool of the same turn has run: that says nothing about this one.
    app.transaction(|tx| approval::expire_pending(tx, &session, Some("Read"))).unwrap();
    assert_eq!(wait_for_approval(&world)["status"], "pending");
    app.transaction(|tx| approval::expire_pending(tx, &session, Some("Bash"))).unwrap();
    assert_eq!(decision(hook), "None");
    world.run(["approvals", "answer", &id, "deny", "--json"]).refuses(4, "approval_lapsed");
    assert_eq!(world.json(["approvals", "list"]), json!([]));
}

#[test]
fn concurrent_answers_count_once() {
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    let hook = hook(&world, "approvals::concurrent_answers_count_once", 60_000);
    let id = wait_for_approval(&world)["id"].to_string();
    let outputs = common::concurrent_start::race(8, |number| {
        world.fairway(["approvals", "answer", &id, if number % 2 == 0 { "allow" } else { "deny" }])
    });
    let line = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<String> = outputs.iter().map(line).collect();
    let counted: Vec<&String> =
        lines.iter().filter(|line| !line.is_empty() && !line.starts_with("unchanged")).collect();
    assert_eq!(counted.len(), 1, "{lines:?}");
    let allow = counted[0].starts_with("allowed");
    assert_eq!(decision(hook), format!("Some(ApprovalDecision {{ allow: {allow}, reason: None }})"));
}

/// The invariant would tell.
#[test]
fn approval_that_was_answered_in_silence_is_found() {
    let world = world();
    common::fixtures::add_approval(&world, "s1", "Bash", true);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    assert_eq!(invariants::violations(&conn), None);
    conn.execute_batch("BEGIN; UPDATE approvals SET status = 'allowed', answered_at = 1, answered_by = 'x'").unwrap();
    assert!(invariants::violations(&conn).unwrap().contains("an approval without the event"));
    conn.execute_batch("ROLLBACK").unwrap();
}
