//! A real agent from `start` to its death and back with its conversation.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::common::test_project::FAIRWAY;
use crate::sessions::{eventually, text};

fn it_comes_back_with_its_conversation(agent: Agent) {
    let Some(scene) = Scene::of(agent) else { return };
    let world = &scene.world;
    let root = world.root();
    world.git(&root, &["init", "--quiet", "--initial-branch=main"]);
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=hooks"]);

    let begin = ["start", "Fix the tax", "--role", "dev", "--json", "--prompt", "the first word"];
    let started = world.run(begin).exits(0).json();
    let id = text(&started["id"]);
    assert_eq!((&started["backend"], &started["lane"]), (&json!("tmux"), &json!("T-1")));
    let told = |word: &str| scene.models.requests().into_iter().rev().find(|request| request.has_new(word));
    eventually("it is told to begin", || told("the first word"));
    eventually("its conversation is known", || (!world.session(&id)["external_session_id"].is_empty()).then_some(()));
    eventually("its conversation is stored", || {
        let files = scene.agent.transcripts(&world.dir().join("home"));
        let has_word = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains("the first word"));
        files.iter().any(has_word).then_some(())
    });
    eventually("it is idle", || (world.session(&id)["activity"] == "idle").then_some(()));
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], json!(id));

    world.kill(&id);
    let relaunch = format!("fairway session relaunch {id}");
    eventually("status says so", || world.run(["status"]).exits(0).stdout.contains(&relaunch).then_some(()));

    // Written out: the guard denies a program that a variable names.
    let word = format!("the second word RUN[[{FAIRWAY} note 'it goes on']]");
    let again = world.run(["session", "relaunch", &id, "--json", "--prompt", &word]).exits(0).json();
    let next = text(&again["id"]);
    assert_eq!((&again["id"], &again["relaunch_of"]), (&json!(format!("{id}-2")), &json!(id)));
    assert_eq!(again["conversation"], json!(world.session(&id)["external_session_id"]));
    let request = eventually("it is told to go on", || told("the second word"));
    assert!(request.count("the first word") > 0, "its conversation is not there: {request:#?}");
    assert!(!request.has_new("the first word"), "{request:#?}");
    assert!(request.count("You have its claim: T-1") > 0, "{request:#?}");
    assert_eq!(again["continued"], json!(["T-1"]));
    // It writes under the claim at once.
    let notes = "SELECT summary FROM checkpoints WHERE summary = 'it goes on'";
    eventually("the note", || (!world.rows(notes).is_empty()).then_some(()));
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], json!(next));
    let ended = world.rows("SELECT ended_as FROM claims WHERE epoch = 1").remove(0);
    assert_eq!(ended["ended_as"], "continued");
    world.run(["session", "stop", &next]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&started["socket"]), "kill-server"]).output();
}

#[test]
fn killed_claude_code_is_relaunched_with_its_conversation() {
    it_comes_back_with_its_conversation(Agent::Claude);
}

#[test]
fn killed_gemini_cli_is_relaunched_with_its_conversation() {
    it_comes_back_with_its_conversation(Agent::Gemini);
}

#[test]
fn killed_codex_is_relaunched_with_its_conversation() {
    it_comes_back_with_its_conversation(Agent::Codex);
}
