//! The agents' real command lines, on models that run in the test, with our hooks as `hook install` enters them.

mod bare_container;
mod changes_hands;
mod delivery;
mod headless;
mod idle_in_terminal;
mod interrupt;
mod interrupted;
mod launched_agents;
mod mcp;
mod plugins;
mod sandboxed;
mod setup;
mod start_and_relaunch;
mod thousand_prompts;
mod transcripts;
mod worktree_lanes;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use serde_json::Value;

use crate::common::agent_programs::Agent;
use crate::common::mock_models::MockModels;
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, eventually};

/// A project in which an agent works, with hooks and rules.
struct Scene {
    world: Sessions,
    models: MockModels,
    agent: Agent,
    program: PathBuf,
    vars: Vec<(&'static str, String)>,
}

/// Of the shell's commands, one is for people.
const RULES: &str = "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"no-canary\"\ntools = [\"Bash\"]\n\
     command = [\"touch\", \"denied\"]\naction = \"deny\"\nreason = \"canaries are for people\"\n";

impl Scene {
    /// `None` where the agent is not installed.
    fn of(agent: Agent) -> Option<Self> {
        let program = agent.program()?;
        let (models, world) = (MockModels::start(), Sessions::new());
        let vars = agent.configure(&world, &models);
        let words: String = vars.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
        let name = agent.name();
        let ready = match agent {
            Agent::Claude => "ready_prompt_prefix = \"❯\"",
            Agent::Codex => "ready_prompt_prefix = \"›\"",
            Agent::Gemini => "ready_prompt_prefix = \"*\"",
        };
        world.configure(&format!(
            "{RULES}[roles.dev]\nprovider = \"{name}\"\nbackend = \"tmux\"\n[providers.{name}]\ncommand = {:?}\n\
             process_names = [\"{name}\", \"node\"]\n{ready}\n[providers.{name}.env]\nTERM = \"xterm-256color\"\n{words}",
            [vec![program.display().to_string()], agent.unattended_args()].concat().join(" "),
        ));
        world.run(["trust"]).exits(0);
        world.run(["hook", "install", name]).exits(0);
        Some(Self { world, models, agent, program, vars })
    }

    /// Has the agent do one thing without a terminal, as this session.
    fn begin(&self, session: &str, prompt: &str) -> Child {
        let mut command: Command = self.world.command(&self.program);
        command
            .args(self.agent.headless_args(prompt))
            .envs(self.vars.iter().cloned())
            .env("FAIRWAY_SESSION_ID", session);
        let output = |name: &str| File::create(self.world.dir().join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(output("stdout")).stderr(output("stderr")).spawn().unwrap()
    }

    /// The output of the agent.
    fn printed(&self) -> String {
        let text = |name: &str| fs::read_to_string(self.world.dir().join(name)).unwrap_or_default();
        text("stdout") + &text("stderr")
    }

    /// Whether a command of the agent's made this.
    fn has(&self, name: &str) -> bool {
        self.world.root().join(name).exists()
    }

    fn make(&self, name: &str) {
        File::create(self.world.root().join(name)).unwrap();
    }

    /// Sends a prompt; answers its number.
    fn prompt(&self, session: &str, priority: &str, text: &str) -> Value {
        self.world.json(["prompt", session, text, "--priority", priority])["message_id"].clone()
    }

    fn column(&self, column: &str, message: &Value) -> String {
        let query = format!("SELECT {column} AS it FROM messages WHERE id = {message}");
        self.world.rows(&query).pop().unwrap().remove("it").unwrap()
    }

    /// Waits until a prompt has arrived, and demands that the model was told it once.
    fn arrives(&self, message: &Value, text: &str) {
        let acknowledged = || (self.column("status", message) == "acknowledged").then_some(());
        if poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), acknowledged).is_none() {
            let screen = self.world.run(["session", "peek", &self.column("to_session", message)]);
            panic!("'{text}' is {}; the terminal: {screen:?}", self.column("status", message));
        }
        eventually("the model is told it", || {
            self.models.requests().last().filter(|last| last.count(text) > 0).cloned()
        });
        assert_eq!(self.times(text), 1, "{text}: {:#?}", self.models.requests().last());
    }

    /// How often the conversation holds a text by now.
    fn times(&self, text: &str) -> usize {
        self.models.requests().last().map_or(0, |last| last.count(text))
    }

    /// The counted usage is the model's.
    fn usage_is_the_models(&self, session: &str) {
        let (input, cached, output) = crate::common::mock_models::USED;
        let usage = self.world.json(["usage", "--by", "session", "--session", session]);
        let answers = self.models.answered();
        let total = &usage["total"];
        assert_eq!(total["turns"], answers, "{usage}");
        assert_eq!(total["input_tokens"], answers * (input - cached), "{usage}");
        assert_eq!(total["cache_read_tokens"], answers * cached, "{usage}");
        assert_eq!(total["output_tokens"], answers * output, "{usage}");
        assert_eq!(total["cost_usd"], Value::Null, "{usage}");
    }
}
