//! `session interrupt` in the agents' own programs: it ends a turn, and it does not end an idle program.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::sessions::{eventually, marked, text};

fn turn_is_interrupted_and_the_program_stays(agent: Agent) {
    let Some(scene) = Scene::of(agent) else { return };
    let world = &scene.world;
    let session = world.launch(&["--role", "dev", "--name", "s"]);
    let run = text(&session["run_id"]);
    if agent == Agent::Gemini {
        eventually("its hooks call", || (!world.session("s")["external_session_id"].is_empty()).then_some(()));
        // It shows its input line a little later.
        sleep(Duration::from_secs(2));
    }
    // Codex leaves the command to itself when its turn is interrupted: there the screen tells.
    let screen = || {
        let args = ["-S", &text(&session["socket"]), "capture-pane", "-p", "-t", &text(&session["pane"])];
        String::from_utf8_lossy(&Command::new("tmux").args(args).output().unwrap().stdout).into_owned()
    };
    let works = || match agent {
        Agent::Codex => screen().contains("esc to interrupt"),
        Agent::Claude | Agent::Gemini => marked(&run)
            .unwrap()
            .iter()
            .any(|key| fs::read_to_string(format!("/proc/{}/comm", key.pid)).is_ok_and(|name| name == "sleep\n")),
    };
    world.run(["prompt", "s", "RUN[[touch begun; sleep 300]]", "--now"]).exits(0);
    eventually("it works", || (scene.has("begun") && works()).then_some(()));
    world.run(["session", "interrupt", "s"]).exits(0);
    eventually("the turn is over", || (!works()).then_some(()));
    // At its input line, where Ctrl-C would end some of them.
    sleep(Duration::from_secs(3));
    world.run(["session", "interrupt", "s", "--force"]).exits(0);
    sleep(Duration::from_secs(3));
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(world.session("s")["status"], "running", "{}", screen());
    world.run(["session", "nudge", "s", "the word after"]).exits(0);
    let told = || scene.models.requests().iter().any(|one| one.has_new("the word after")).then_some(());
    eventually("the model is told it", told);
    eventually("it is idle", || (world.session("s")["activity"] == "idle").then_some(()));
    // Keys that would do something else at the input line are not pressed.
    assert_eq!(world.run(["session", "interrupt", "s"]).exits(0).stdout, "unchanged: s is idle\n");
    world.run(["session", "stop", "s"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&session["socket"]), "kill-server"]).output();
}

#[test]
fn claude_code_stays_when_it_is_interrupted() {
    turn_is_interrupted_and_the_program_stays(Agent::Claude);
}

#[test]
fn codex_stays_when_it_is_interrupted() {
    turn_is_interrupted_and_the_program_stays(Agent::Codex);
}

#[test]
fn gemini_cli_stays_when_it_is_interrupted() {
    turn_is_interrupted_and_the_program_stays(Agent::Gemini);
}
