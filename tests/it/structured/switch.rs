//! A session that goes on in its agent's terminal, and back: same session, same conversation, same claims.

use std::fs;

use serde_json::json;

use super::Scene;
use crate::common::terminal::at_terminal;
use crate::common::test_project::FAIRWAY;
use crate::sessions::{eventually, text};

/// The agent's program for a terminal: it reports that it is idle, and writes down what is typed.
const TERMINAL: &str = "#!/bin/sh\necho \"started $*\" >> typed\n[ \"$TERMINAL_FAILS\" = 1 ] && exit 3\n\
     \"$FAIRWAY_BIN\" session heartbeat \"$FAIRWAY_SESSION_ID\" --activity idle > /dev/null\n\
     echo ready for words\nwhile read -r line; do echo \"typed $line\" >> typed; done\n";

fn scene(more: &str) -> Scene {
    let scene = Scene::unproven("", "");
    let program = scene.script("fake-terminal", TERMINAL);
    let file = scene.root().join(".fairway.toml");
    let before = fs::read_to_string(&file).unwrap();
    let terminal = format!(
        "[sessions]\ndefault_backend = \"tmux\"\n[providers.fake]\ncommand = {:?}\n\
         resume_args = [\"--resume\", \"{{conversation}}\"]\n[providers.fake.acp]",
        program.display().to_string()
    );
    let env = format!("[providers.fake.env]\n{more}");
    let text = before.replacen("[providers.fake.acp]", &terminal, 1).replacen("[providers.fake.env]\n", &env, 1);
    fs::write(&file, text).unwrap();
    scene.run(["trust"]).exits(0);
    scene.run(["task", "add", "T-1", "title", "--role", "dev"]).exits(0);
    scene.launch(&["--role", "dev", "--structured", "--id", "s", "--task", "T-1", "--prompt", "first"]);
    scene.wait_until_idle();
    scene
}

fn typed(scene: &Scene) -> String {
    fs::read_to_string(scene.root().join("typed")).unwrap_or_default()
}

/// What of the session must be the same before and after.
fn kept(scene: &Scene) -> [String; 4] {
    let row = scene.session("s");
    ["id", "external_session_id", "task_id", "started_at"].map(|name| row[name].clone())
}

#[test]
fn switch_awaits_the_turn_and_loses_nothing() {
    let scene = scene("");
    let before = kept(&scene);
    scene.prompt("STALL");
    eventually("it is busy", || (scene.session("s")["activity"] == "busy").then_some(()));
    let mut switch = scene.fairway(["session", "terminal", "s"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(switch.try_wait().unwrap(), None, "a running turn is awaited");
    assert_eq!(scene.session("s")["backend"], "acp");
    // What is queued is the next turn, and no part of what is awaited is lost.
    scene.prompt("second");
    scene.run(["session", "interrupt", "s"]).exits(0);
    assert!(switch.wait().unwrap().success());
    assert_eq!(scene.session("s")["backend"], "tmux");
    assert_eq!(kept(&scene), before);
    eventually("the terminal", || typed(&scene).contains("started --resume conversation-1\n").then_some(()));
    let texts = scene.prompts().into_iter().flatten().collect::<Vec<_>>().join("\n");
    assert_eq!(texts.matches("second").count(), 1, "{texts}");
    scene.wait_until_idle();
    scene.prompt("third");
    eventually("it is typed", || typed(&scene).contains("third").then_some(()));
    assert_eq!(scene.run(["session", "terminal", "s"]).exits(0).stdout, "unchanged: s is in a terminal already\n");
    scene.run(["session", "heartbeat", "s", "--activity", "idle"]).exits(0);
    let back = scene.json(["session", "structured", "s"]);
    assert_eq!((&back["backend"], &back["id"]), (&json!("acp"), &json!("s")));
    assert_eq!(kept(&scene), before);
    scene.wait_until_idle();
    scene.prompt("fourth");
    let shown = scene.shows("did: fourth");
    assert!(shown.contains("did: first"), "the conversation is one: {shown}");
    let session = scene.session("s");
    assert_eq!((session["status"].as_str(), session["reason"].as_str()), ("running", ""));
    let kinds = scene.rows("SELECT kind FROM events WHERE kind IN ('session.ended', 'session.failed')");
    assert!(kinds.is_empty(), "{kinds:?}");
    scene.run(["session", "stop", "s"]).exits(0);
    assert_eq!(scene.session("s")["status"], "ended");
}

#[test]
fn switch_that_fails_leaves_the_session_as_it_was() {
    let scene = scene("TERMINAL_FAILS = \"1\"\n");
    let before = kept(&scene);
    let failed = scene.run(["session", "terminal", "s"]).exits(7);
    assert!(failed.stderr.contains("exit code 3"), "{}", failed.stderr);
    assert!(typed(&scene).contains("started --resume conversation-1"));
    let session = scene.session("s");
    assert_eq!((session["status"].as_str(), session["backend"].as_str()), ("running", "acp"));
    assert_eq!(kept(&scene), before);
    scene.wait_until_idle();
    scene.prompt("after");
    scene.shows("did: after");
    // What cannot be tried is refused before anything is touched.
    let run = scene.session("s")["run_id"].clone();
    fs::remove_file(scene.dir().join("fake-terminal")).ok();
    let other = Scene::launched();
    let refused = other.run(["session", "terminal", "s"]);
    refused.exits(3);
    assert_eq!(scene.session("s")["run_id"], run);
    other.prompt("still here");
    other.shows("did: still here");
}

#[test]
fn attach_at_a_terminal_switches_first() {
    let scene = scene("");
    let mut follow = scene.command("timeout");
    follow.args(["-s", "KILL", "2", FAIRWAY, "session", "attach", "s", "--follow"]);
    let followed = at_terminal(follow, &[("did: first", "")]);
    assert!(followed.screen.contains("did: first"), "{followed:?}");
    assert_eq!(scene.session("s")["backend"], "acp");
    // Ctrl-b d leaves tmux.
    let attached = at_terminal(
        scene.fairway(["session", "attach", "s"]),
        &[("waiting for the end of the turn", ""), ("ready for words", "\u{2}d")],
    );
    assert_eq!(attached.code, Some(0), "{attached:?}");
    assert_eq!(scene.session("s")["backend"], "tmux");
    assert!(text(&scene.json(["session", "show", "s"])["attach_command"]).contains("tmux"));
    scene.run(["session", "stop", "s"]).exits(0);
}
