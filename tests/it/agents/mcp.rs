//! The real command lines list the tools of `fairway mcp` and call each of them.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::common::mock_models::ModelRequest;
use crate::common::test_project::FAIRWAY;

/// Every tool once, in an order in which each call works.
pub const CALLS: &str = "please TOOL[[next {}]] TOOL[[task {}]] TOOL[[note {\"text\": \"half done\"}]] \
     TOOL[[verify {\"check\": \"unit\"}]] TOOL[[ask {\"question\": \"which one?\"}]] TOOL[[inbox {}]] \
     TOOL[[overlap {}]] TOOL[[run {\"command\": \"echo from-the-job\"}]] TOOL[[finish {\"how\": \"submit\"}]]";
/// The names of the tools.
pub const TOOLS: &[&str] = &["next", "task", "note", "verify", "finish", "ask", "inbox", "run", "overlap"];

/// The arguments that configure the server for one call of an agent's command line.
fn server_args(agent: Agent) -> Vec<String> {
    match agent {
        Agent::Claude => {
            let servers = json!({ "mcpServers": { "fairway": { "command": FAIRWAY, "args": ["mcp"] } } });
            vec!["--mcp-config".into(), servers.to_string()]
        }
        // It hands on only the variables that are named, and asks a person before a tool that runs programs, unless a person
        // has approved that tool.
        Agent::Codex => vec![
            "-c".into(),
            format!(
                "mcp_servers.fairway={{command={FAIRWAY:?},args=[\"mcp\"],env_vars=[\"FAIRWAY_SESSION_ID\"],\
                 tools={{run={{approval_mode=\"approve\"}}}}}}"
            ),
        ],
        Agent::Gemini => Vec::new(),
    }
}

impl Scene {
    /// Prepares a session that has claimed a task with a check.
    pub fn give_task(&self) {
        let world = &self.world;
        world.run(["session", "upsert", "--id", "s", "--role", "dev", "--provider", self.agent.name()]).exits(0);
        world.run(["task", "add", "--id", "T-1", "Fix the total", "--check", "unit=echo fine"]).exits(0);
        world.run(["claim", "T-1", "--session", "s"]).exits(0);
    }

    /// Runs the agent once with these arguments before those for a prompt, as the session `s`.
    pub fn run_with(&self, args: &[String], prompt: &str) {
        let mut command: Command = self.world.command(&self.program);
        let output = |name: &str| File::create(self.world.dir().join(name)).unwrap();
        let ended = command
            .args(args)
            .args(self.agent.headless_args(prompt))
            .envs(self.vars.iter().cloned())
            // All tools stand in the request, and none is to be searched for.
            .env("ENABLE_TOOL_SEARCH", "false")
            .env("FAIRWAY_SESSION_ID", "s")
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .status()
            .unwrap();
        assert!(ended.success(), "{}", self.printed());
    }

    /// Demands that every tool was offered and called, and that each call did its work.
    #[track_caller]
    pub fn all_were_called(&self) {
        let heard: Vec<ModelRequest> = self.models.requests();
        let first = &heard.first().expect("a request").whole;
        for tool in TOOLS {
            let listed =
                [format!("fairway__{tool}\""), format!("mcp_fairway_{tool}\""), format!("\"name\":\"{tool}\"")];
            assert!(listed.iter().any(|name| first.contains(name)), "{tool} is not listed: {first}");
        }
        let said = heard.iter().skip(1).flat_map(|heard| heard.new.clone()).collect::<Vec<_>>().join("\n");
        for word in ["half done", "passed", "awaiting_input", "no overlap", "from-the-job", "T-1"] {
            // Some give their model the document in place of the text, and one the text alone.
            let instead = match word {
                "passed" => "\"result\":\"pass\"",
                "no overlap" => "\"overlaps\":[]",
                "half done" => "recorded checkpoint 1 on T-1",
                _ => word,
            };
            assert!(said.contains(word) || said.contains(instead), "{word}: {said}\n{}", self.printed());
        }
        let world = &self.world;
        let task: Value = world.json(["task", "show", "T-1"]);
        assert_eq!(task["status"], "review", "{task}\n{said}");
        let states: Vec<Value> = world
            .json(["checkpoint", "list", "T-1"])
            .as_array()
            .unwrap()
            .iter()
            .map(|checkpoint| checkpoint["state"].clone())
            .collect();
        assert!(world.json(["checkpoint", "list", "T-1"]).to_string().contains("half done"));
        assert!(states.contains(&json!("active")) && states.contains(&json!("awaiting_input")), "{states:?}");
        assert_eq!(world.json(["evidence", "list", "T-1"])[0]["result"], "pass");
    }
}

fn each_tool_is_listed_and_called(agent: Agent) {
    let Some(scene) = Scene::of(agent) else { return };
    scene.give_task();
    scene.run_with(&server_args(agent), CALLS);
    scene.all_were_called();
}

#[test]
fn claude_code_lists_and_calls_each_tool() {
    each_tool_is_listed_and_called(Agent::Claude);
}

#[test]
fn codex_lists_and_calls_each_tool() {
    each_tool_is_listed_and_called(Agent::Codex);
}

/// A client that hands nothing on: the tools that change something say what is missing.
#[test]
fn codex_without_named_variables_is_refused_with_the_next_step() {
    let Some(scene) = Scene::of(Agent::Codex) else { return };
    scene.give_task();
    let server = format!("mcp_servers.fairway={{command={FAIRWAY:?},args=[\"mcp\"]}}");
    scene.run_with(&["-c".into(), server], "please TOOL[[note {\"text\": \"half done\"}]]");
    let heard = scene.models.requests();
    assert!(heard.iter().any(|heard| heard.has_new("no_session")), "{heard:#?}");
    assert_eq!(scene.world.json(["checkpoint", "list", "T-1"]), json!([]));
}
