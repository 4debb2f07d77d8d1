//! `fairway session relaunch`: the next session in the place of one that is over.

use std::fs;

use serde_json::{Value, json};

use super::{Sessions, eventually, text};

/// A session of a provider whose program writes down how it is called and what it is told, with a claim on T-1.
pub(super) fn working() -> Sessions {
    let mut world = Sessions::with_git();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    let told = world.dir().join("told");
    let text = format!(
        "#!/bin/sh\necho \"called: $*\" >>'{0}'\nwhile read -r line; do echo \"$line\" >>'{0}'; done\nexec sleep 600\n",
        told.display()
    );
    let program = world.script("claude", &text);
    world.configure(&format!(
        "[project]\nbase_branch = \"main\"\n[providers.claude]\ncommand = \"{}\"\n[providers.plain]\ncommand = \"{0}\"\n",
        program.display()
    ));
    world.run(["trust"]).exits(0);
    start(&world, "Fix the tax", &["--provider", "claude"]);
    world
}

fn start(world: &Sessions, task: &str, more: &[&str]) -> Value {
    world.run(["start", task, "--json"].iter().chain(more)).exits(0).json()
}

/// The texts that the programs were given so far.
pub(super) fn told(world: &Sessions) -> String {
    fs::read_to_string(world.dir().join("told")).unwrap_or_default()
}

/// Whether a session has a text as its first message, or its program got it typed.
fn is_told(world: &Sessions, id: &str, text: &str) -> bool {
    let messages = world.rows(&format!("SELECT content FROM messages WHERE to_session = '{id}'"));
    messages.iter().any(|message| message["content"].contains(text)) || told(world).contains(text)
}

fn relaunch(world: &Sessions, args: &[&str]) -> crate::common::test_project::CommandOutput {
    world.run(["session", "relaunch", "--json"].iter().chain(args))
}

#[test]
fn dead_session_is_relaunched_in_its_place_with_its_claims() {
    let world = working();
    relaunch(&world, &["T-1-claude"]).refuses(4, "session_alive");
    world.kill("T-1-claude");
    fs::remove_file(world.dir().join("told")).unwrap();
    let session = relaunch(&world, &["T-1-claude"]).exits(0).json();
    for (key, value) in [
        ("id", json!("T-1-claude-2")),
        ("relaunch_of", json!("T-1-claude")),
        ("task_id", json!("T-1")),
        ("lane", json!("T-1")),
        ("role", json!("agent")),
        ("provider", json!("claude")),
        ("backend", json!("shell")),
        ("branch", json!("lane/T-1")),
        ("conversation", Value::Null),
        ("requested_id", Value::Null),
    ] {
        assert_eq!(session[key], value, "{key}: {session}");
    }
    assert!(text(&session["notes"][0]).contains("the conversation is not resumed: its id is unknown"), "{session}");
    // The claim goes on with the launch, and its agent is told so.
    assert_eq!(session["continued"], json!(["T-1"]));
    let claim = world.json(["task", "show", "T-1"])["claim"].clone();
    assert_eq!((&claim["session_id"], &claim["epoch"]), (&json!("T-1-claude-2"), &json!(2)));
    let ended = world.rows("SELECT ended_as FROM claims WHERE epoch = 1").remove(0);
    assert_eq!((ended["ended_as"].as_str(), world.session("T-1-claude")["status"].as_str()), ("continued", "failed"));
    eventually("the prompt", || is_told(&world, "T-1-claude-2", "You have its claim: T-1").then_some(()));
    world.run(["--session", "T-1-claude-2", "note", "it goes on"]).exits(0);
    // The board has one row for one work, and asks for nothing.
    let status = world.run(["status"]).exits(0).stdout;
    assert!(!status.contains("session relaunch"), "{status}");
    world.run(["--session", "T-1-claude", "note", "too late"]).exits(4);
    // Both ways round: it is relaunched already, and it is alive.
    let error = relaunch(&world, &["T-1-claude"]).refuses(4, "session_alive").error();
    assert!(text(&error["hint"]).contains("fairway session stop T-1-claude-2"), "{error}");
    relaunch(&world, &["T-1-claude-2"]).refuses(4, "session_alive");
    // The number counts from the first session.
    world.kill("T-1-claude-2");
    let session = relaunch(&world, &["T-1-claude-2"]).exits(0).json();
    assert_eq!((&session["id"], &session["relaunch_of"]), (&json!("T-1-claude-3"), &json!("T-1-claude-2")));
    assert_eq!(session["continued"], json!(["T-1"]));
    let shown = world.json(["session", "show", "T-1-claude-3"]);
    assert_eq!(shown["relaunch_of"], "T-1-claude-2");
}

/// What is blocked stays so, what waits for its review too, and no rule for a claim stands in the way.
#[test]
fn relaunch_has_every_claim_as_it_was() {
    let world = working();
    let claim = |task: &str, title: &str| {
        world.run(["task", "add", task, title, "--lane", "T-1", "--role", "agent"]).exits(0);
        world.run(["--session", "T-1-claude", "claim", task]).exits(0);
    };
    claim("T-2", "two");
    claim("T-3", "three");
    world.run(["--session", "T-1-claude", "task", "block", "T-2", "--reason", "no key"]).exits(0);
    world.run(["--session", "T-1-claude", "task", "submit", "T-3"]).exits(0);
    world.run(["lane", "edit", "T-1", "--wip", "1"]).exits(0);
    world.kill("T-1-claude");
    let relaunched = world.run(["session", "relaunch", "T-1-claude"]).exits(0).stdout;
    assert!(relaunched.contains("\n  continues: T-1, T-2, T-3\n"), "{relaunched}");
    let state = |task: &str| {
        let task = world.json(["task", "show", task]);
        (text(&task["status"]), text(&task["claim"]["claimant"]))
    };
    let next = || "T-1-claude-2".to_owned();
    assert_eq!(state("T-1"), ("in_progress".to_owned(), next()));
    assert_eq!(state("T-2"), ("blocked".to_owned(), next()));
    assert_eq!(state("T-3"), ("review".to_owned(), next()));
    let asked = ["review", "record", "T-3", "--verdict", "changes", "--notes", "the total is wrong"];
    world.run(asked).exits(0);
    assert!(is_told(&world, "T-1-claude-2", "the total is wrong"));
}

#[test]
fn claims_of_a_relaunch_that_failed_go_on_with_the_next_one() {
    let world = working();
    world.kill("T-1-claude");
    let program = world.dir().join("claude");
    let working = fs::read_to_string(&program).unwrap();
    fs::write(&program, "#!/bin/sh\nexit 3\n").unwrap();
    world.run(["session", "relaunch", "T-1-claude"]).exits(7);
    fs::write(&program, working).unwrap();
    let session = relaunch(&world, &["T-1-claude"]).exits(0).json();
    assert_eq!(session["continued"], json!(["T-1"]));
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], session["id"]);
}

#[test]
fn conversation_is_resumed_where_the_profile_can() {
    let world = working();
    let told_conversation = |id: &str| {
        let set = ["session", "upsert", "--id", "T-1-claude", "--external-session-id", id];
        world.run(set).exits(0);
    };
    told_conversation("c-1");
    world.kill("T-1-claude");
    fs::remove_file(world.dir().join("told")).unwrap();
    let session = relaunch(&world, &["T-1-claude"]).exits(0).json();
    assert_eq!(session["conversation"], "c-1");
    let called = eventually("the call", || told(&world).lines().next().map(str::to_owned));
    assert!(called.contains("--resume c-1"), "{called}");
    // The conversation is known through the chain, also to a session that never spoke.
    world.kill("T-1-claude-2");
    fs::remove_file(world.dir().join("told")).unwrap();
    let shown = world.run(["session", "relaunch", "T-1-claude-2"]).exits(0).stdout;
    assert!(shown.starts_with("relaunched T-1-claude-2 as T-1-claude-3, with its conversation\n"), "{shown}");
    world.kill("T-1-claude-3");
    eventually("the call", || told(&world).contains("--resume c-1").then_some(()));
    fs::remove_file(world.dir().join("told")).unwrap();
    let session = relaunch(&world, &["T-1-claude-3", "--no-resume"]).exits(0).json();
    assert_eq!(session["conversation"], Value::Null);
    let called = eventually("the call", || told(&world).lines().next().map(str::to_owned));
    assert!(!called.contains("--resume"), "{called}");
}

#[test]
fn provider_without_resume_args_begins_a_new_conversation_and_says_so() {
    let world = working();
    start(&world, "Another one", &["--provider", "plain"]);
    world.run(["session", "upsert", "--id", "T-2-plain", "--external-session-id", "c-2"]).exits(0);
    world.kill("T-2-plain");
    let session = relaunch(&world, &["T-2-plain"]).exits(0).json();
    assert_eq!((&session["provider"], &session["conversation"]), (&json!("plain"), &Value::Null));
    assert!(session["notes"].to_string().contains("has no resume_args"), "{session}");
}

#[test]
fn relaunch_repeats_the_flags_of_the_launch() {
    let world = working();
    start(&world, "Another one", &["--env", "TOKEN=x", "--", "sleep", "600"]);
    world.kill("T-2-shell");
    let events = world.run(["events", "--json"]).exits(0).stdout;
    assert!(events.contains("own_command") && !events.contains("TOKEN=x") && !events.contains("sleep"), "{events}");
    let error = relaunch(&world, &["T-2-shell"]).refuses(2, "usage").error();
    assert_eq!(error["hint"], "give it again: fairway session relaunch T-2-shell --env TOKEN=VALUE -- COMMAND");
    relaunch(&world, &["T-2-shell", "--", "sleep", "600"]).refuses(2, "usage");
    relaunch(&world, &["T-2-shell", "--env", "TOKEN=y"]).refuses(2, "usage");
    assert_eq!(world.session("T-2-shell")["status"], "running", "a refusal writes nothing");
    relaunch(&world, &["T-2-shell", "T-1-claude", "--", "true"]).refuses(2, "usage");
    let session = relaunch(&world, &["T-2-shell", "--env", "TOKEN=y", "--", "sleep", "600"]).exits(0).json();
    assert_eq!((&session["id"], &session["notes"]), (&json!("T-2-shell-2"), &json!([])));
}

#[test]
fn all_dead_sessions_with_claims_are_relaunched_at_once() {
    let world = working();
    start(&world, "Another one", &["--provider", "plain"]);
    start(&world, "A third one", &["--provider", "plain"]);
    let none = world.run(["session", "relaunch", "--dead"]).exits(0).stdout;
    assert_eq!(none, "no sessions to relaunch\n");
    world.kill("T-1-claude");
    world.kill("T-2-plain");
    let all = relaunch(&world, &["--dead"]).exits(0).json();
    let ids: Vec<String> = all.as_array().unwrap().iter().map(|one| text(&one["id"])).collect();
    assert_eq!(ids, ["T-1-claude-2", "T-2-plain-2"]);
    // Their successors have not continued yet, and are alive.
    assert_eq!(relaunch(&world, &["--dead"]).exits(0).json(), json!([]));
    let both = relaunch(&world, &["T-1-claude", "T-3-plain"]).exits(4).json();
    assert_eq!(
        (&both[0]["error"]["code"], &both[1]["error"]["code"]),
        (&json!("session_alive"), &json!("session_alive"))
    );
}

/// Work goes on where its provider cannot: the claims come along, and the conversation does not.
#[test]
fn relaunch_with_another_provider_continues_the_claims_in_a_new_conversation() {
    let world = working();
    world.kill("T-1-claude");
    let session = relaunch(&world, &["T-1-claude", "--provider", "plain"]).exits(0).json();
    assert_eq!(
        (&session["provider"], &session["lane"], &session["conversation"]),
        (&json!("plain"), &json!("T-1"), &Value::Null),
        "{session}"
    );
    assert!(
        session["notes"].to_string().contains("a new conversation begins: the old one was with claude"),
        "{session}"
    );
    let id = text(&session["id"]);
    assert!(is_told(&world, &id, "T-1"), "{}", told(&world));
}

/// What was ended on purpose is started on purpose.
#[test]
fn stopped_sessions_are_relaunched_by_a_flag_of_their_own() {
    let world = working();
    start(&world, "Another one", &["--provider", "plain"]);
    world.kill("T-1-claude");
    world.run(["session", "stop", "T-2-plain"]).exits(0);
    let ids = |flag: &str| -> Vec<String> {
        let all = relaunch(&world, &[flag]).exits(0).json();
        all.as_array().unwrap().iter().map(|one| text(&one["id"])).collect()
    };
    assert_eq!(ids("--dead"), ["T-1-claude-2"]);
    assert_eq!(ids("--dead"), [""; 0]);
    assert_eq!(ids("--stopped"), ["T-2-plain-2"]);
    assert_eq!(ids("--stopped"), [""; 0]);
    relaunch(&world, &["--stopped", "--dead"]).refuses(2, "usage");
}

#[test]
fn relaunch_needs_the_lane() {
    let world = working();
    world.kill("T-1-claude");
    world.run(["release", "T-1", "--force", "--reason", "rain"]).exits(0);
    world.run(["session", "end", "T-1-claude"]).exits(0);
    world.run(["lane", "close", "T-1"]).exits(0);
    relaunch(&world, &["T-1-claude"]).refuses(5, "lane_closed");
    world.run(["lane", "rm", "T-1"]).exits(0);
    relaunch(&world, &["T-1-claude"]).refuses(3, "not_found");
    relaunch(&world, &["nobody"]).refuses(3, "not_found");
}

#[test]
fn prime_tells_a_person_to_relaunch() {
    let world = working();
    world.kill("T-1-claude");
    let shown = world.run(["prime", "--task", "T-1"]).exits(0).stdout;
    assert!(shown.contains("fairway session relaunch T-1-claude  continues"), "{shown}");
}
