//! The notes of a launch about its task and its lane, and the source of its role and provider.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Sessions, text};
use crate::common::soak;

fn notes(world: &Sessions, args: &[&str]) -> Vec<String> {
    let launch = ["session", "launch", "--json", "--dry-run"];
    let run = world.run(launch.iter().chain(args)).exits(0);
    let document = run.json();
    let notes: Vec<String> = document["notes"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(run.stderr, notes.iter().map(|note| format!("{note}\n")).collect::<String>());
    notes
}

#[test]
fn launch_says_why_its_task_cannot_be_claimed() {
    let world = Sessions::new();
    world.run(["lane", "add", "api", "--role", "backend"]).exits(0);
    world.run(["lane", "add", "ui", "--role", "frontend"]).exits(0);
    world.run(["task", "add", "T-1", "one", "--lane", "api"]).exits(0);
    world.run(["task", "add", "T-2", "two", "--role", "frontend", "--depends-on", "T-1"]).exits(0);
    assert_eq!(notes(&world, &["--task", "T-1"]), [""; 0]);
    assert_eq!(
        notes(&world, &["--role", "backend", "--task", "T-2"]),
        [
            "task T-2 has unfinished dependencies: T-1 is todo",
            "task T-2 is for the role frontend; the session has the role backend"
        ]
    );
    assert_eq!(
        notes(&world, &["--lane", "ui", "--task", "T-1"]),
        ["task T-1 belongs to the lane api; the session works in ui"]
    );

    let first = world.launch(&["--lane", "api", "--id", "m1", "--task", "T-1", "--", "sleep", "300"]);
    assert_eq!((&first["role"], &first["notes"]), (&"backend".into(), &json!([])));
    world.run(["--session", "m1", "--as", "backend", "claim", "T-1"]).exits(0);
    let before = world.queue();
    let second = ["--lane", "api", "--id", "m2", "--task", "T-1"];
    let said = ["task T-1 is claimed by m1", "the lane api has another live session: m1 (running)"];
    assert_eq!(notes(&world, &second), said);
    let launched =
        world.run(["session", "launch", "--json"].iter().chain(&second).chain(&["--", "sleep", "300"])).exits(0);
    assert_eq!(launched.json()["notes"], json!(said));
    assert_eq!(launched.stderr, format!("{}\n{}\n", said[0], said[1]));
    assert_eq!(world.queue(), before, "a launch claims nothing");

    world.run(["session", "stop", "m1"]).exits(0);
    world.run(["lane", "pause", "api"]).exits(0);
    assert_eq!(
        notes(&world, &["--lane", "api", "--task", "T-1"]),
        [
            "task T-1 is claimed by m1, which has ended; to continue it, in m2 of lane api: fairway --session m2 claim T-1",
            "the lane api is paused",
            "the lane api has another live session: m2 (running)"
        ]
    );
    world.run(["session", "stop", "m2"]).exits(0);
    world.run(["lane", "open", "api"]).exits(0);
    world.run(["task", "cancel", "T-1", "--reason", "x", "--force"]).exits(0);
    assert_eq!(notes(&world, &["--role", "r", "--task", "T-1"]), ["task T-1 is closed"]);
}

#[test]
fn launch_takes_its_role_from_the_lane_then_from_the_task() {
    let world = Sessions::new();
    world.run(["lane", "add", "api", "--role", "backend"]).exits(0);
    world.run(["lane", "add", "bare"]).exits(0);
    world.run(["task", "add", "T-1", "one", "--lane", "api"]).exits(0);
    world.run(["task", "add", "T-2", "two", "--role", "frontend"]).exits(0);
    let role = |args: &[&str]| {
        let launch = ["session", "launch", "--dry-run"];
        text(&world.json(launch.iter().chain(args).copied().collect::<Vec<_>>())["session"]["role"])
    };
    assert_eq!(role(&["--lane", "api"]), "backend");
    assert_eq!(role(&["--task", "T-1"]), "backend");
    assert_eq!(role(&["--task", "T-2"]), "frontend");
    assert_eq!(role(&["--lane", "api", "--role", "tester"]), "tester");
    let refused = |args: &[&str]| {
        let launch = ["session", "launch", "--json", "--dry-run"];
        world.run(launch.iter().chain(args)).refuses(2, "usage").error()
    };
    let error = refused(&["--lane", "bare"]);
    assert_eq!(error["message"], "no role: --role is missing, and the lane bare has none");
    assert_eq!(error["hint"], "to set the lane's role: fairway lane edit bare --role ROLE");
    assert_eq!(refused(&[])["hint"], "name a role: fairway session launch --role ROLE");
    world.run(["lane", "edit", "bare", "--role", "writer"]).exits(0);
    assert_eq!(role(&["--lane", "bare"]), "writer");
}

#[test]
fn program_is_its_provider_where_one_of_its_name_is_configured() {
    let world = Sessions::new();
    world.configure(
        "[providers.sleep.env]\nKIND = \"s\"\n[providers.other]\ncommand = \"cat\"\n[roles.r]\nprovider = \"other\"\n",
    );
    world.run(["trust"]).exits(0);
    let planned = |args: &[&str]| -> Value {
        let launch = ["session", "launch", "--dry-run", "--json"];
        world.run(launch.iter().chain(args)).exits(0).json()
    };
    let sleep = planned(&["--role", "r", "--", "/bin/sleep", "60"]);
    assert_eq!((&sleep["session"]["provider"], &sleep["environment"]["KIND"]), (&"sleep".into(), &"s".into()));
    assert_eq!(planned(&["--role", "r", "--command", "sleep 60"])["session"]["provider"], "sleep");
    assert_eq!(planned(&["--role", "r", "--provider", "other", "--", "sleep", "60"])["session"]["provider"], "other");
    assert_eq!(planned(&["--role", "r", "--", "true"])["session"]["provider"], "other");
    assert_eq!(planned(&["--role", "x", "--", "true"])["session"]["provider"], "shell");
}

#[test]
fn launch_of_another_program_does_not_wait_for_the_providers() {
    let world = Sessions::new();
    world.configure("[providers.codex]\nprocess_names = [\"codex\"]\nready_prompt_prefix = \"›\"\n[roles.r]\nprovider = \"codex\"\n");
    world.run(["trust"]).exits(0);
    let began = Instant::now();
    let session = world.launch(&["--role", "r", "--id", "s1", "--", "sleep", "300"]);
    // The wait for a program that never comes takes 30 s.
    soak::took(began.elapsed(), ..Duration::from_secs(20), "a launch of another program");
    assert_eq!(session["provider"], "codex");
    let note = text(&session["notes"][0]);
    assert!(
        note.contains("does not mention the program of the provider codex") && note.contains("--provider codex"),
        "{note}"
    );
    world.run(["session", "stop", "s1"]).exits(0);
    let awaited = |args: &[&str]| {
        let launch = ["session", "launch", "--dry-run", "--json", "--role", "r"];
        world.run(launch.iter().chain(args)).exits(0).json()["start"]["process_names"].clone()
    };
    assert_eq!(awaited(&["--", "sleep", "300"]), Value::Null);
    // A command that mentions the program may start it, and a named provider is the user's word.
    assert_eq!(awaited(&["--", "sh", "-c", "exec codex"]), json!(["codex"]));
    assert_eq!(awaited(&["--provider", "codex", "--", "sleep", "300"]), json!(["codex"]));
}

#[test]
fn dry_run_for_people_has_no_json() {
    let world = Sessions::new();
    let shown = world.run(["session", "launch", "--role", "r", "--dry-run"]).exits(0).stdout;
    assert!(shown.contains("provider    shell\n") && !shown.contains('{'), "{shown}");
    let document = world.json(["session", "launch", "--role", "r", "--dry-run"]);
    assert!(document["start"]["env"].is_object(), "{document}");
}
