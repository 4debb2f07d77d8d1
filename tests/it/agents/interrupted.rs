//! Turns that a person ends in the agent's own window, and the questions that an agent asks before its first turn.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::common::mock_models::SLOW;
use crate::sessions::{eventually, text};

/// Presses a key in the window of a session.
fn press(session: &Value, key: &str) {
    let (socket, pane) = (text(&session["socket"]), text(&session["pane"]));
    let pressed = Command::new("tmux").args(["-S", &socket, "send-keys", "-t", &pane, key]).status().unwrap();
    assert!(pressed.success());
}

fn end(scene: &Scene, session: &Value) {
    scene.world.run(["session", "stop", "s"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&session["socket"]), "kill-server"]).output();
}

/// A session in the middle of a turn that lasts.
fn in_a_turn(scene: &Scene) -> Value {
    let session = scene.world.launch(&["--role", "dev", "--name", "s"]);
    scene.world.run(["session", "nudge", "s", SLOW]).exits(0);
    eventually("its turn has begun", || (scene.world.session("s")["activity"] == "busy").then_some(()));
    eventually("the model is asked", || (scene.models.answered() > 0).then_some(()));
    session
}

#[test]
fn interrupted_claude_code_is_idle_by_its_screen_and_gets_what_waits() {
    let Some(scene) = Scene::of(Agent::Claude) else { return };
    let session = in_a_turn(&scene);
    let waits = scene.world.run(["prompt", "s", "after the interruption"]).exits(0);
    assert!(waits.stderr.contains("s has been busy for "), "{waits:?}");
    // While it works, its screen says nothing else.
    scene.world.run(["prompt", "s", "and this", "--wait-ack", "12s"]).exits(6);
    assert_eq!(scene.world.session("s")["activity"], "busy");
    press(&session, "Escape");
    // It puts the text of a turn without an answer back into its input line.
    eventually("it has stopped", || {
        let screen = scene.world.run(["session", "peek", "s"]).exits(0).stdout;
        (!screen.contains("esc to interrupt")).then_some(())
    });
    press(&session, "C-u");
    let sent = scene.world.json(["prompt", "s", "at last", "--wait-ack", "60s"]);
    // No hook says that it is idle, and a busy session gets no normal prompt before the end of its turn.
    assert_eq!(sent["message"]["status"], "acknowledged", "{sent}");
    for word in ["after the interruption", "and this", "at last"] {
        eventually(word, || scene.models.requests().iter().any(|heard| heard.count(word) > 0).then_some(()));
    }
    end(&scene, &session);
}

#[test]
fn claude_code_that_is_interrupted_in_a_tool_call_is_idle_by_its_screen() {
    let Some(scene) = Scene::of(Agent::Claude) else { return };
    let session = scene.world.launch(&["--role", "dev", "--name", "s"]);
    scene.world.run(["session", "nudge", "s", "RUN[[touch begun; sleep 300]]"]).exits(0);
    eventually("its call has begun", || scene.has("begun").then_some(()));
    press(&session, "Escape");
    let sent = scene.world.json(["prompt", "s", "after the call", "--wait-ack", "60s"]);
    assert_eq!(sent["message"]["status"], "acknowledged", "{sent}");
    eventually("it is told", || {
        scene.models.requests().iter().any(|heard| heard.count("after the call") > 0).then_some(())
    });
    end(&scene, &session);
}

#[test]
fn interrupted_codex_tells_it_by_its_hook_and_gets_what_waits() {
    let Some(scene) = Scene::of(Agent::Codex) else { return };
    let session = in_a_turn(&scene);
    let message = scene.prompt("s", "normal", "after the interruption");
    assert_eq!(scene.column("status", &message), "queued");
    press(&session, "Escape");
    scene.arrives(&message, "after the interruption");
    assert_eq!(scene.column("channel", &message), "nudge");
    end(&scene, &session);
}

/// In a directory that it does not know yet, with the prompt as an argument.
fn it_asks_for_trust(agent: Agent, question: &str) {
    let Some(scene) = Scene::of(agent) else { return };
    let (world, name) = (&scene.world, agent.name());
    let vars: String = scene.vars.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
    world.configure(&format!(
        "[roles.dev]\nprovider = \"{name}\"\nbackend = \"tmux\"\n[providers.{name}]\ncommand = \"{}\"\n\
         prompt = \"argument\"\n[providers.{name}.env]\nTERM = \"xterm-256color\"\n{vars}",
        scene.program.display()
    ));
    world.run(["trust"]).exits(0);
    let other = world.dir().join("unknown");
    fs::create_dir(&other).unwrap();
    assert!(Command::new("git").args(["init", "--quiet"]).current_dir(&other).status().unwrap().success());
    let words = ["--role", "dev", "--name", "s", "--worktree", other.to_str().unwrap(), "--prompt", "begin"];
    let launch = ["session", "launch", "--json", "--wait", "20s"];
    let refused = world.run(launch.iter().chain(&words)).refuses(6, "first_prompt_pending");
    assert_eq!(refused.json()["first_prompt"]["state"], "waiting_for_person", "{refused:?}");
    assert_eq!(refused.error()["details"]["question"], question, "{refused:?}");
    end(&scene, &refused.json());
}

#[test]
fn launch_says_that_claude_code_asks_for_trust() {
    it_asks_for_trust(Agent::Claude, "Quick safety check: Is this a project you created or one you trust?");
}

#[test]
fn launch_says_that_codex_asks_for_trust() {
    it_asks_for_trust(Agent::Codex, "Trust this folder?");
}
