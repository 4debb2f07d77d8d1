//! Each agent without a terminal: the guard decides, prompts reach it before its first turn, within a turn and at its end.

use std::fs;

use fairway_core::config::session_variables;

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::sessions::eventually;

fn it_is_guarded_and_told(agent: Agent) {
    let Some(scene) = Scene::of(agent) else { return };
    let world = &scene.world;
    world.run(["session", "upsert", "--id", "s", "--role", "dev", "--provider", agent.name()]).exits(0);
    let fresh = scene.prompt("s", "normal", "the fresh word");
    let wait = "touch started; while [ ! -e go ]; do sleep 0.05; done";
    // The variable by which the profile knows an agent that was started by hand.
    let variable = session_variables().find(|(provider, _)| *provider == agent.name()).map(|(_, variable)| variable);
    assert_eq!(variable.is_some(), !matches!(agent, Agent::Gemini));
    let allowed = variable.map_or("touch allowed".to_owned(), |name| format!("printenv {name} >allowed"));
    let mut child = scene.begin("s", &format!("do RUN[[touch denied]] then RUN[[{allowed}]] then RUN[[{wait}]]"));
    eventually("it works", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", scene.printed());
        scene.has("started").then_some(())
    });
    assert_eq!(world.session("s")["activity"], "busy");
    let urgent = scene.prompt("s", "urgent", "the urgent word");
    let normal = scene.prompt("s", "normal", "the normal word, RUN[[touch told]]");
    assert_eq!(scene.column("status", &normal), "queued");
    scene.make("go");
    let end = eventually("it ends", || child.try_wait().unwrap());
    assert!(end.success(), "{}", scene.printed());

    assert!(!scene.has("denied"), "{}", scene.printed());
    assert!(scene.has("allowed") && scene.has("told"), "{}", scene.printed());
    if let Some(variable) = variable {
        let value = fs::read_to_string(world.root().join("allowed")).unwrap();
        assert_eq!(world.session("s")["external_session_id"], value.trim(), "{variable}");
    }
    let reason = "canaries are for people";
    let heard = scene.models.requests();
    assert!(heard.iter().any(|heard| heard.has_new(reason) && heard.has_new("no-canary")), "{heard:#?}");
    for (message, text, way) in [
        (&fresh, "the fresh word", "turn_start"),
        (&urgent, "the urgent word", "tool"),
        (&normal, "the normal word", "turn_end"),
    ] {
        scene.arrives(message, text);
        assert_eq!(scene.column("channel", message), way, "{text}");
    }
    let urgent_at = heard.iter().position(|heard| heard.has_new("the urgent word")).unwrap();
    let normal_at = heard.iter().position(|heard| heard.has_new("the normal word")).unwrap();
    assert!(urgent_at < normal_at, "{heard:#?}");
    scene.usage_is_the_models("s");
    let denied = "SELECT tool, rule FROM guard_decisions WHERE allowed = 0";
    let denied = world.rows(denied);
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["rule"], "no-canary");
    eventually("it has ended", || (world.session("s")["status"] == "ended").then_some(()));
}

#[test]
fn headless_claude_code_is_guarded_and_prompted() {
    it_is_guarded_and_told(Agent::Claude);
}

#[test]
fn headless_codex_is_guarded_and_prompted() {
    it_is_guarded_and_told(Agent::Codex);
}

#[test]
fn headless_gemini_cli_is_guarded_and_prompted() {
    it_is_guarded_and_told(Agent::Gemini);
}

/// Its shell has no `fairway` in PATH: the person hears of it within the turn, and the agent goes on by the path that it is told.
fn it_is_told_of_a_program_that_its_shell_does_not_find(agent: Agent) {
    let Some(scene) = Scene::of(agent) else { return };
    let world = &scene.world;
    world.run(["session", "upsert", "--id", "s", "--role", "dev", "--provider", agent.name()]).exits(0);
    let wait = "touch started; while [ ! -e go ]; do sleep 0.05; done";
    let mut child = scene.begin("s", &format!("do RUN[[fairway prime]] then RUN[[{wait}]]"));
    eventually("it works", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", scene.printed());
        scene.has("started").then_some(())
    });
    let is_item = || {
        let needs = world.json(["status"])["needs_you"].clone();
        needs.as_array().unwrap().iter().any(|need| need["id"] == "program:s").then_some(())
    };
    // Codex calls no hook for a command that failed, and Gemini CLI runs both commands at once.
    if matches!(agent, Agent::Claude) {
        eventually("the person is told", is_item);
    }
    scene.make("go");
    let end = eventually("it ends", || child.try_wait().unwrap());
    assert!(end.success(), "{}", scene.printed());
    let told = "Your shell does not find `fairway`";
    let heard = scene.models.requests();
    assert!(heard.iter().any(|heard| heard.has_new(told)), "{heard:#?}");
    assert_eq!(world.rows("SELECT count(program_missing_at) AS n FROM session_reports")[0]["n"], "1");
}

#[test]
fn claude_code_without_the_program_in_its_shell_is_told() {
    it_is_told_of_a_program_that_its_shell_does_not_find(Agent::Claude);
}

#[test]
fn codex_without_the_program_in_its_shell_is_told() {
    it_is_told_of_a_program_that_its_shell_does_not_find(Agent::Codex);
}

#[test]
fn gemini_cli_without_the_program_in_its_shell_is_told() {
    it_is_told_of_a_program_that_its_shell_does_not_find(Agent::Gemini);
}
