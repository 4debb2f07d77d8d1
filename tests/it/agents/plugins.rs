//! The real command lines install the plugins from the directory of this repository, offline, and use what they bring.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::Scene;
use super::mcp::CALLS;
use crate::common::agent_programs::Agent;
use crate::common::test_project::FAIRWAY;

fn plugins() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plugins").display().to_string()
}

impl Scene {
    /// A scene in which hooks and server come from the plugin, and the binary is in PATH.
    fn with_plugin(agent: Agent) -> Option<Self> {
        let mut scene = Self::of(agent)?;
        let bin = scene.world.dir().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(FAIRWAY, bin.join("fairway")).unwrap();
        let path = std::env::var("PATH").unwrap();
        scene.world.set("PATH", format!("{}:{path}", bin.display()));
        if agent == Agent::Claude {
            scene.world.run(["hook", "uninstall", "claude"]).exits(0);
        }
        Some(scene)
    }

    fn agent_command(&self, args: &[&str]) -> Output {
        self.agent_command_with("", args)
    }

    /// Runs a command of the agent that reads these answers to its questions.
    fn agent_command_with(&self, answers: &str, args: &[&str]) -> Output {
        let mut command: Command = self.world.command(&self.program);
        command.args(args).envs(self.vars.iter().cloned()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that asks nothing may have ended.
        let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:#?}");
        output
    }
}

#[test]
fn claude_code_installs_the_plugin_and_its_renamed_tools_are_own_commands() {
    let Some(scene) = Scene::with_plugin(Agent::Claude) else { return };
    scene.agent_command(&["plugin", "validate", &plugins()]);
    scene.agent_command(&["plugin", "marketplace", "add", &plugins()]);
    scene.agent_command(&["plugin", "install", "fairway@fairway"]);
    // With the entries beside it the hooks would run twice.
    scene.world.run(["hook", "install", "claude", "--json"]).refuses(4, "plugin_has_hooks");
    scene.give_task();
    scene.run_with(&[], &format!("do RUN[[touch denied]] and {CALLS}"));
    scene.all_were_called();
    let first = scene.models.requests()[0].whole.clone();
    assert!(first.contains("mcp__plugin_fairway_fairway__next"), "{first}");
    assert!(!scene.has("denied"), "{}", scene.printed());
    // The hook knew the renamed tools: their calls are an agent's own commands, and once for each call.
    let log = scene.world.json(["guard", "log"]);
    let of = |tool: &str| -> Vec<Value> {
        let name = format!("mcp__plugin_fairway_fairway__{tool}");
        log.as_array().unwrap().iter().filter(|one| one["tool"] == *name).cloned().collect()
    };
    assert_eq!(of("note").len(), 1, "{log}");
    assert_eq!(of("note")[0]["reason"], "an agent's own command of Fairway", "{log}");
}

#[test]
fn codex_installs_the_plugin_and_calls_its_tools() {
    let Some(scene) = Scene::with_plugin(Agent::Codex) else { return };
    scene.agent_command(&["plugin", "marketplace", "add", &plugins()]);
    scene.agent_command(&["plugin", "add", "fairway@fairway"]);
    scene.give_task();
    // Codex asks a person before a plugin's tool that runs programs. Without a terminal only the lack of a sandbox is an answer.
    scene.run_with(&["-c".into(), "sandbox_mode=\"danger-full-access\"".into()], CALLS);
    scene.all_were_called();
}

#[test]
fn gemini_cli_installs_the_extension_and_calls_its_tools() {
    let Some(scene) = Scene::with_plugin(Agent::Gemini) else { return };
    let extension = format!("{}/gemini", plugins());
    let said = scene.agent_command(&["extensions", "validate", &extension]);
    let text = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    assert!(text.contains("successfully validated"), "{text}");
    // It asks whether the source is trusted.
    scene.agent_command_with("y\n", &["extensions", "install", "--consent", &extension]);
    scene.give_task();
    scene.run_with(&[], CALLS);
    scene.all_were_called();
}
