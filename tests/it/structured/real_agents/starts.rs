//! Many starts at once, so that each is slow: every one is one session, and has its first prompt.

use std::process::Stdio;

use super::*;
use crate::common::soak;

/// The starts of each agent in a soak run, and in any other one. `FAIRWAY_AGENT_STARTS` is another number.
const STARTS: usize = 40;
const FEW_STARTS: usize = 2;
/// So many of them begin at once.
const AT_ONCE: usize = 4;

fn starts_are_one_session_each(agent: Structured) {
    let Some(scene) = RealScene::of(agent) else { return };
    if let Structured::Known(known) = agent {
        // As setup does: its hooks fire beside the protocol.
        scene.world.run(["hook", "install", known.name(), "--user"]).exits(0);
    }
    let starts = soak::count("FAIRWAY_AGENT_STARTS", STARTS, FEW_STARTS);
    let word = |number: usize| format!("word-{number}-begins");
    for first in (0..starts).step_by(AT_ONCE) {
        let part = first..starts.min(first + AT_ONCE);
        let launched: Vec<_> = part
            .clone()
            .map(|number| {
                let (id, prompt) = (format!("n{number}"), word(number));
                let words = ["session", "launch", "--role", "dev", "--structured", "--id", &id, "--prompt", &prompt];
                scene.world.fairway(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
            })
            .collect();
        for mut one in launched {
            assert!(one.wait().unwrap().success());
        }
        for number in part {
            let query = format!(
                "SELECT m.status FROM messages m JOIN agent_sessions s ON s.first_prompt = m.id WHERE s.id = 'n{number}'"
            );
            eventually("its first prompt", || (scene.world.rows(&query)[0]["status"] == "acknowledged").then_some(()));
            eventually("the model is told", || {
                scene.models.requests().iter().any(|request| request.has_new(&word(number))).then_some(())
            });
            let idle = format!("n{number}");
            eventually("its turn ends", || (scene.world.session(&idle)["activity"] == "idle").then_some(()));
            scene.world.run(["session", "stop", &idle]).exits(0);
        }
    }
    let all = scene.world.json(["session", "list", "--all"]);
    let ids: Vec<&str> = all.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), starts + 1, "{ids:?}");
}

#[test]
fn each_start_of_claude_over_the_protocol_is_one_session() {
    starts_are_one_session_each(Structured::Known(Agent::Claude));
}

#[test]
fn each_start_of_codex_over_the_protocol_is_one_session() {
    starts_are_one_session_each(Structured::Known(Agent::Codex));
}

#[test]
fn each_start_of_gemini_over_the_protocol_is_one_session() {
    starts_are_one_session_each(Structured::Known(Agent::Gemini));
}
