//! Agents in a terminal that wait for their next prompt.

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::sessions::{eventually, text};

/// In a terminal that Fairway did not start: its session is registered by its first hook, and prompts wake it without a
/// keystroke.
#[test]
fn idle_claude_code_wakes_and_its_exit_is_noticed() {
    let Some(scene) = Scene::of(Agent::Claude) else { return };
    let world = &scene.world;
    let socket = world.dir().join("tmux");
    let tmux = |args: &[&str]| {
        let mut command: Command = world.command("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(args).envs(scene.vars.iter().cloned());
        let output = command.env("TERM", "xterm-256color").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let program = format!("exec {} {}", scene.program.display(), Agent::Claude.unattended_args().join(" "));
    tmux(&["new-session", "-d", "-x", "120", "-y", "40", &program]);
    let session = eventually("its session is known", || {
        world.rows("SELECT id, pid FROM agent_sessions WHERE pid IS NOT NULL").pop()
    });
    let id = &session["id"];
    let waits = || {
        eventually("a hook waits", || {
            let folder = std::fs::read_dir(world.root().join(".fairway/runtime/listen")).ok()?;
            folder.flatten().any(|file| file.file_name().to_string_lossy().starts_with("wait-")).then_some(())
        });
    };
    // Before its first turn, and after one.
    for (word, number) in [("the first word", 1), ("the second word", 2)] {
        waits();
        let message = scene.prompt(id, "normal", word);
        scene.arrives(&message, word);
        assert_eq!(scene.column("channel", &message), "wake");
        eventually("it is idle again", || (world.session(id)["activity"] == "idle").then_some(()));
        assert_eq!(scene.models.answered(), number, "{:#?}", scene.models.requests());
    }
    // The last answer of a turn comes into the record when its hooks are over: it is read with the next turn.
    assert!(!world.rows("SELECT * FROM usage_turns").is_empty());
    waits();
    kill(Pid::from_raw(session["pid"].parse().unwrap()), Signal::SIGKILL).unwrap();
    eventually("its death is seen", || (world.session(id)["status"] == "stale").then_some(()));
    let _ = Command::new("tmux").arg("-S").arg(&socket).arg("kill-server").output();
}

/// Launched by Fairway: what waits is typed.
fn it_is_typed_to(agent: Agent) {
    let Some(scene) = Scene::of(agent) else { return };
    let world = &scene.world;
    let session = world.launch(&["--role", "dev", "--name", "s"]);
    if agent == Agent::Gemini {
        // It takes no keys before its first hook was here, though it shows where to type. Codex has no hook before its first
        // prompt.
        eventually("its hooks call", || (!world.session("s")["external_session_id"].is_empty()).then_some(()));
    }
    // Codex has reported nothing yet, so that its state is unknown.
    let first = world.json(["prompt", "s", "the first word", "--now"])["message_id"].clone();
    scene.arrives(&first, "the first word");
    eventually("it is idle", || (world.session("s")["activity"] == "idle").then_some(()));
    let second = scene.prompt("s", "normal", "the second word");
    scene.arrives(&second, "the second word");
    assert_eq!(scene.column("channel", &second), "nudge");
    eventually("it is idle again", || (world.session("s")["activity"] == "idle").then_some(()));
    scene.usage_is_the_models("s");
    world.run(["session", "stop", "s"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&session["socket"]), "kill-server"]).output();
}

#[test]
fn idle_codex_gets_a_typed_prompt() {
    it_is_typed_to(Agent::Codex);
}

#[test]
fn idle_gemini_cli_gets_a_typed_prompt() {
    it_is_typed_to(Agent::Gemini);
}
