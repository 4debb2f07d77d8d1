//! The end of a turn of a session that has claimed a task: what it means, on every surface.

use std::fs;

use serde_json::{Value, json};

use super::{event, silent};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const VENDORS: [(&str, &str, &str); 3] = [
    ("claude", "Stop", "last_assistant_message"),
    ("codex", "Stop", "last_assistant_message"),
    ("gemini", "AfterAgent", "prompt_response"),
];

/// A project in which `done` requires evidence, and a stop becomes an item after this time.
pub(super) fn configure(world: &TestProject, after: &str) {
    let text = format!("[agents]\nunfinished_after = \"{after}\"\n[gates.done]\nrequire = [\"evidence\"]\n");
    fs::write(world.root().join(".fairway/local.toml"), text).unwrap();
}

/// As [`configure`], with this number of reminders.
fn remind(world: &TestProject, times: u8) {
    configure(world, "1ms");
    let path = world.root().join(".fairway/local.toml");
    let text = fs::read_to_string(&path).unwrap().replace("[agents]\n", &format!("[agents]\ncontinue = {times}\n"));
    fs::write(path, text).unwrap();
}

/// A session of this vendor that has claimed T-1; its id.
pub(super) fn working(world: &TestProject, vendor: &str) -> String {
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.hook(vendor, &event("SessionStart", "a", json!({ "source": "startup" }))).exits(0);
    let id = world.session()["id"].as_str().unwrap().to_owned();
    world.run(["--session", &id, "--as", "person", "claim", "T-1"]).exits(0);
    id
}

pub(super) fn needs(world: &TestProject) -> Vec<Value> {
    world.json(["status"])["needs_you"].as_array().unwrap().clone()
}

#[test]
fn session_that_ends_its_turn_with_an_unfinished_task_is_no_calm() {
    for (vendor, end, field) in VENDORS {
        let world = TestProject::new();
        configure(&world, "1h");
        let id = working(&world, vendor);
        let ends = |said: &str| world.hook(vendor, &event(end, "a", json!({ field: said }))).exits(0);
        ends("Half of it is done.");
        // It is not told as a need at once, and nothing is called calm.
        assert_eq!(needs(&world), [] as [Value; 0]);
        let shown = world.run(["status"]).exits(0).stdout;
        assert!(shown.starts_with(&format!("{id} has just stopped, and its task is not submitted\n")), "{shown}");
        assert!(world.run(["session", "list"]).exits(0).stdout.contains(" stopped "), "{shown}");
        let session = world.session();
        assert_eq!((&session["activity"], &session["turn_end"]["meaning"]), (&json!("idle"), &json!("stopped")));
        assert_eq!(session["turn_end"]["blockers"][0]["code"], "evidence_missing");
        // After a while it is.
        configure(&world, "1ms");
        let found = needs(&world);
        let lines: Vec<&str> = found.iter().map(|need| need["line"].as_str().unwrap()).collect();
        assert_eq!(found[0]["id"], format!("unfinished:{id}"), "{found:#?}");
        assert!(lines[0].starts_with("it ended its turn; T-1 still needs: "), "{lines:?}");
        assert!(
            found[0]["evidence"].as_str().unwrap().ends_with("its last message: Half of it is done."),
            "{found:#?}"
        );
        assert_eq!(found[0]["commands"][0]["command"], format!("fairway prompt {id} TEXT"));
        assert_eq!(world.run(["status", "--line"]).exits(0).stdout, "1!\n");
        let why = world.run(["explain", "session", &id]).exits(0).stdout;
        assert!(why.contains(lines[0]), "{why}");
        // The gate is cleared.
        world.run(["--session", &id, "evidence", "add", "T-1", "--kind", "test", "--result", "pass"]).exits(0);
        assert_eq!(world.session()["turn_end"]["meaning"], "finished");
        assert!(needs(&world)[0]["commands"].to_string().contains("fairway task submit T-1 "));
        world.run(["--session", &id, "task", "submit", "T-1"]).exits(0);
        assert_eq!(world.session()["turn_end"], Value::Null);
        assert!(needs(&world).iter().all(|need| need["kind"] != "unfinished"));
    }
}

#[test]
fn session_that_asks_or_waits_for_something_of_its_own_has_not_stopped() {
    let world = TestProject::new();
    configure(&world, "1ms");
    let id = working(&world, "claude");
    let ends =
        |said: &str| world.hook("claude", &event("Stop", "a", json!({ "last_assistant_message": said }))).exits(0);
    let meaning = |world: &TestProject| world.session()["turn_end"]["meaning"].as_str().unwrap_or("none").to_owned();
    ends("There are two ways.\n\n**Which one shall I take?**");
    assert_eq!(meaning(&world), "asks");
    let found = needs(&world);
    assert_eq!((&found[0]["kind"], &found[0]["line"]), (&json!("question"), &json!("**Which one shall I take?**")));
    // A new turn, and its job runs on.
    world.hook("claude", &event("UserPromptSubmit", "a", json!({ "prompt": "the first" }))).exits(0);
    assert_eq!(meaning(&world), "none");
    let job = world.run(["--session", &id, "exec", "spawn", "--json", "--", "sleep", "600"]).exits(0).json();
    let job = job["run_id"].as_str().unwrap();
    ends("The tests run.");
    assert_eq!((meaning(&world).as_str(), needs(&world).len()), ("waits", 0));
    let shown = world.run(["session", "list"]).exits(0).stdout;
    assert!(shown.contains(" idle ") && shown.contains("waits for job "), "{shown}");
    world.run(["exec", "kill", job]).exits(0);
    world.run(["exec", "wait", job]);
    assert_eq!((meaning(&world).as_str(), needs(&world)[0]["kind"].as_str()), ("stopped", Some("unfinished")));
    // What it has handed over waits for its reader.
    world.run(["--session", &id, "handoff", "create", "T-1", "--to-role", "person", "--summary", "rest"]).exits(0);
    assert_eq!(meaning(&world), "waits");
    // Without a claim it is idle.
    world.run(["--session", &id, "handoff", "withdraw", "1"]).exits(0);
    world.run(["--session", &id, "release", "T-1"]).exits(0);
    assert_eq!((meaning(&world).as_str(), needs(&world).len()), ("none", 0));
    assert!(world.run(["status"]).exits(0).stdout.starts_with("nothing needs you\n"));
}

#[test]
fn stopped_session_is_reminded_while_it_makes_progress_and_never_when_it_asks() {
    for (vendor, end, field) in VENDORS {
        let world = TestProject::with_git();
        remind(&world, 3);
        let id = working(&world, vendor);
        let ends = |said: &str| world.hook(vendor, &event(end, "a", json!({ field: said }))).exits(0);
        let line = |world: &TestProject| needs(world)[0]["line"].as_str().unwrap().to_owned();
        // A question is a person's.
        silent(&ends("Shall I go on?"));
        let told = ends("Half of it is done.").stdout;
        assert!(told.contains("T-1 is not handed in") && told.contains("fairway evidence run T-1"), "{told}");
        assert_eq!((&world.session()["activity"], needs(&world).len()), (&json!("busy"), 0));
        // Words are no progress.
        silent(&ends("It is still half done."));
        assert!(line(&world).ends_with("; it was reminded once"), "{}", line(&world));
        // A changed file is, and so is a checkpoint.
        fs::write(world.root().join("total.rs"), "1").unwrap();
        assert!(ends("I changed it.").stdout.contains("T-1 is not handed in"));
        let checkpoint = ["checkpoint", "record", "T-1", "--state", "active", "--summary", "the parser is done"];
        world.run([&["--session", &id], &checkpoint[..]].concat()).exits(0);
        assert!(ends("I noted it.").stdout.contains("T-1 is not handed in"));
        // Three times are enough.
        fs::write(world.root().join("total.rs"), "22").unwrap();
        silent(&ends("I changed it again."));
        assert!(line(&world).ends_with("; it was reminded 3 times"), "{}", line(&world));
        let count = "SELECT count(*) FROM events WHERE kind = 'session.reminded'";
        assert_eq!(world.value(count), "3");
        // A person reminds it at any time, but not in its turn.
        world.run(["session", "continue", &id]).exits(0);
        let begin = if vendor == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" };
        let context = world.hook(vendor, &event(begin, "a", json!({ "prompt": "x" }))).exits(0).stdout;
        assert!(context.contains("T-1 is not handed in"), "{context}");
        let refused = world.run(["session", "continue", &id, "--json"]).refuses(4, "session_not_stopped").error();
        assert_eq!(refused["details"]["reason"], "it is busy");
    }
}

#[test]
fn launch_sets_its_reminders_off_by_a_variable() {
    let world = TestProject::new();
    remind(&world, 2);
    working(&world, "codex");
    let stop = event("Stop", "a", json!({ "last_assistant_message": "Half of it is done." }));
    let mut hook = world.fairway(["hook", "codex", "Stop"]);
    hook.env("FAIRWAY_AGENTS_CONTINUE", "0");
    let run: CommandOutput = super::started(hook, stop.to_string().as_bytes()).wait_with_output().unwrap().into();
    silent(&run);
    assert!(world.hook("codex", &stop).exits(0).stdout.contains("T-1 is not handed in"));
}
