//! The matrix: every case with each of the agents' own programs over the Agent Client Protocol, on models that run in the test. Beside
//! each stands `acp_noise.py`, which adds what an agent would write that misbehaves. A soak run repeats prompts and switches.

mod noise;
mod processes;
mod questions;
mod short;
mod starts;
mod turns;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use fairway_core::os::poll_until::poll_until;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use crate::common::agent_programs::{Agent, installed};
use crate::common::mock_models::{ESCALATED, MockModels};
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, eventually};

/// An agent that speaks the protocol, by its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structured {
    Known(Agent),
    OpenCode,
    Qwen,
    Copilot,
    Kimi,
    Droid,
    Vibe,
    Kilo,
}

impl Structured {
    /// Those of the day.
    pub(crate) const ALL: [Self; 5] =
        [Self::Known(Agent::Claude), Self::Known(Agent::Codex), Self::Known(Agent::Gemini), Self::OpenCode, Self::Qwen];

    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Known(agent) => agent.name(),
            Self::OpenCode => "opencode",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::Kimi => "kimi",
            Self::Droid => "droid",
            Self::Vibe => "vibe",
            Self::Kilo => "kilo",
        }
    }

    /// Whether its conversation may be gone with a process that was killed.
    fn may_lose_its_conversation(self) -> bool {
        self.provider() == "gemini"
    }

    /// Whether it tells by hooks, which a launch brings, that it waits in a terminal. Codex does so with its first prompt only.
    fn reports_in_a_terminal(self) -> bool {
        self == Self::Known(Agent::Claude)
    }

    /// A command as a prompt that has the model run it. Codex asks only for what its sandbox does not allow: the mark has the model
    /// ask for a run outside of it.
    pub(crate) fn to_run(self, command: &str) -> String {
        let mark = if self == Self::Known(Agent::Codex) { ESCALATED } else { "" };
        format!("RUN[[{command}{mark}]]")
    }

    /// Its command for a terminal in which no person sits.
    fn terminal_command(self) -> String {
        let args = if let Self::Known(agent) = self { agent.unattended_args() } else { Vec::new() };
        let words: Vec<String> = std::iter::once(self.provider().to_owned()).chain(args).collect();
        shell_words::join(words)
    }

    /// Whether it tells in its answers how many tokens it has used.
    fn tells_usage(self) -> bool {
        !matches!(self, Self::Qwen | Self::Kimi | Self::Droid)
    }

    /// Whether it asks once for all calls of an answer.
    fn asks_for_all(self) -> bool {
        self == Self::Droid
    }

    /// Whether it takes urgent prompts into its running turn.
    fn can_be_steered(self) -> bool {
        matches!(self, Self::Known(Agent::Claude | Agent::Codex))
    }

    /// Whether it tells what a command has printed.
    fn tells_results(self) -> bool {
        !matches!(self.provider(), "gemini" | "droid")
    }

    /// The directory of its program; `None` where it is not installed.
    pub(crate) fn programs(self) -> Option<PathBuf> {
        let program = match self {
            Self::Known(Agent::Claude) => "claude-agent-acp",
            Self::Known(Agent::Codex) => "codex-acp",
            Self::Known(Agent::Gemini) => "gemini",
            Self::Vibe => "vibe-acp",
            other => other.provider(),
        };
        let directory = match self {
            Self::Copilot | Self::Kimi | Self::Droid => "npm-acp-more/node_modules/.bin",
            Self::Kilo => "npm-kilo/node_modules/.bin",
            Self::Vibe => "vibe/bin",
            _ => "npm-acp/node_modules/.bin",
        };
        installed(directory, program)
    }

    pub(crate) fn configure(self, world: &Sessions, models: &MockModels) -> Vec<(&'static str, String)> {
        match self {
            Self::Known(agent) => {
                let mut vars = agent.configure(world, models);
                // It starts no session as root otherwise.
                vars.extend((agent == Agent::Claude).then(|| ("IS_SANDBOX", "1".to_owned())));
                vars
            }
            Self::Copilot => vec![
                ("COPILOT_PROVIDER_TYPE", "anthropic".to_owned()),
                ("COPILOT_PROVIDER_BASE_URL", models.address().to_owned()),
                ("COPILOT_PROVIDER_API_KEY", "mock".to_owned()),
                ("COPILOT_MODEL", "mock-model".to_owned()),
                ("COPILOT_OFFLINE", "true".to_owned()),
                // It unpacks itself there, 235 MB.
                ("COPILOT_PKG_CACHE_HOME", self.programs().unwrap().join("../../copilot-pkg").display().to_string()),
            ],
            Self::Kimi => vec![
                ("KIMI_MODEL_PROVIDER_TYPE", "anthropic".to_owned()),
                ("KIMI_MODEL_BASE_URL", models.address().to_owned()),
                ("KIMI_MODEL_API_KEY", "mock".to_owned()),
                ("KIMI_MODEL_NAME", "mock-model".to_owned()),
                ("KIMI_MODEL_MAX_CONTEXT_SIZE", "200000".to_owned()),
            ],
            Self::Droid => {
                let model = json!({
                    "model": "mock-model", "displayName": "mock", "baseUrl": models.address(), "apiKey": "mock",
                    "provider": "anthropic", "maxOutputTokens": 4096,
                });
                let settings = json!({ "model": "custom:mock-model", "customModels": [model] });
                let home = world.dir().join("home/.factory");
                fs::create_dir_all(&home).unwrap();
                fs::write(home.join("settings.json"), settings.to_string()).unwrap();
                vec![("FACTORY_API_KEY", "fk-mock".to_owned())]
            }
            Self::Vibe => {
                let settings = format!(
                    "active_model = \"mock\"\nenable_telemetry = false\nenable_update_checks = false\n[[providers]]\n\
                     name = \"mock\"\napi_base = \"{}\"\napi_key_env_var = \"MOCK_KEY\"\napi_style = \"anthropic\"\n\
                     backend = \"generic\"\n[[models]]\nname = \"mock-model\"\nprovider = \"mock\"\nalias = \"mock\"\n",
                    models.address()
                );
                let home = world.dir().join("home/.vibe");
                fs::create_dir_all(&home).unwrap();
                fs::write(home.join("config.toml"), settings).unwrap();
                vec![("MOCK_KEY", "mock".to_owned())]
            }
            Self::OpenCode | Self::Kilo => {
                let provider = json!({
                    "npm": "@ai-sdk/anthropic", "name": "mock", "models": { "m": { "name": "m" } },
                    "options": { "baseURL": format!("{}/v1", models.address()), "apiKey": "mock" },
                });
                let settings = json!({
                    "model": "mock/m", "small_model": "mock/m", "autoupdate": false, "provider": { "mock": provider },
                });
                if self == Self::Kilo {
                    return vec![("KILO_CONFIG_CONTENT", settings.to_string())];
                }
                vec![("OPENCODE_CONFIG_CONTENT", settings.to_string()), ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned())]
            }
            Self::Qwen => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "anthropic" } },
                    "privacy": { "usageStatisticsEnabled": false },
                    "general": { "enableAutoUpdate": false },
                });
                let home = world.dir().join("home/.qwen");
                fs::create_dir_all(&home).unwrap();
                fs::write(home.join("settings.json"), settings.to_string()).unwrap();
                vec![
                    ("ANTHROPIC_BASE_URL", models.address().to_owned()),
                    ("ANTHROPIC_API_KEY", "mock".to_owned()),
                    ("ANTHROPIC_MODEL", "mock-model".to_owned()),
                ]
            }
        }
    }
}

/// A rule that denies a command without a person.
pub(super) const RULE: &str = "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"no-canary\"\ntools = [\"Bash\"]\n\
     command = [\"touch\", \"forbidden\"]\naction = \"deny\"\nreason = \"as a rule\"\n";

/// What a step shows, and the step.
type Step = (&'static [&'static str], fn(&RealScene));

/// The steps with each agent, in this order, in one world. Each text is a case of the matrix.
const STEPS: &[Step] = &[
    (
        &[
            "initialize: the agent is named with its version",
            "its mode is set and read back",
            "it is proven that it asks",
            "files with the conversation are readable by their owner alone",
        ],
        RealScene::is_open,
    ),
    (
        &[
            "the first prompt comes with the context",
            "a prompt has a receipt",
            "a permission request has the whole command and the agent's options",
            "a person allows the command, and it runs",
            "the command runs in the session's environment",
            "call and result are in the conversation",
        ],
        RealScene::allows,
    ),
    (&["its usage is told"], RealScene::tells_usage),
    (
        &["a person denies a command, and it does not run", "a prompt of a running turn waits for its end"],
        RealScene::denies,
    ),
    (&["two calls of one answer are decided by themselves"], RealScene::decides_each),
    (&["the guard denies a command without a person"], RealScene::guards),
    (
        &[
            "a turn is cancelled with its question open",
            "an answer that comes too late is refused",
            "the next prompt goes on with the conversation",
        ],
        RealScene::cancels_with_a_question,
    ),
    (&["each call has one decision"], RealScene::has_decisions),
    (&["a turn is cancelled without a question", "an idle session has nothing to cancel"], RealScene::cancels),
    (&["an urgent prompt goes into the running turn of an agent that takes it, else behind it"], RealScene::steers),
    (&["prompts are delivered and acknowledged once"], RealScene::delivers),
    (
        &[
            "garbage",
            "half a frame",
            "a request that nothing offers",
            "an update that nothing knows, and one of another session",
            "an answer that came already",
            "a plan",
            "a flood",
        ],
        RealScene::survives_noise,
    ),
    (&["its mode changes: the session is not guarded until it asks again"], RealScene::changes_its_mode),
    (
        &[
            "a question that is withdrawn disappears",
            "a command that ran without a question gets its decision, and a denial is shown",
            "questions without end are bounded, and a cancel closes them",
        ],
        RealScene::asks_without_end,
    ),
    (&["an agent that stalls is cancelled, and goes on"], RealScene::stalls),
    (&["our share of an idle session takes no time of the processor"], RealScene::is_quiet),
    (&["the conversation goes on in a terminal", "and back"], RealScene::switches),
    // Behind the switch: it would fill the screen of the terminal.
    (&["a long prompt arrives whole"], RealScene::takes_a_long_prompt),
    (&["the agent is killed with its question open", "its conversation goes on in a relaunch"], RealScene::is_killed),
    (&["allowed always: the agent's own option"], RealScene::allows_always),
    (&["the supervisor is killed, and nothing of the agent is left"], RealScene::ends_with_its_supervisor),
];

/// How many cases there are.
const CASES: usize = 43;

/// A project in which the agent is launched, with its built-in profile and the noise beside it.
struct RealScene {
    world: Sessions,
    models: MockModels,
    agent: Structured,
    /// The mode in which it asks.
    mode: String,
    /// The session.
    id: RefCell<String>,
}

impl RealScene {
    fn of(agent: Structured) -> Option<Self> {
        let programs = agent.programs()?;
        let (models, mut world) = (MockModels::start(), Sessions::with_git());
        let vars = agent.configure(&world, &models);
        let path = env::var_os("PATH").unwrap();
        // The agents' programs for a terminal are beside those for the protocol.
        let terminals = programs.join("../../../npm/node_modules/.bin");
        let path = env::join_paths([programs, terminals].into_iter().chain(env::split_paths(&path))).unwrap();
        world.set("PATH", path);
        let name = agent.provider();
        let listed = world.json(["provider", "list"]);
        let profile = listed.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        let fifo = world.dir().join("noise");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let noise = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/acp_noise.py");
        let mut command = vec![noise.to_owned(), fifo.display().to_string()];
        command.extend(shell_words::split(profile["structured"]["command"].as_str().unwrap()).unwrap());
        let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
        let terminal = agent.terminal_command();
        world.configure(&format!(
            "[roles.dev]\nprovider = \"{name}\"\n[sessions]\ndefault_backend = \"tmux\"\n\
             [providers.{name}]\ncommand = {terminal:?}\n[providers.{name}.acp]\ncommand = {command:?}\n\
             [providers.{name}.env]\n{vars}{RULE}"
        ));
        world.run(["trust"]).exits(0);
        let proven = world.json(["doctor", "agents", name, "--yes"]);
        assert_eq!(proven[0]["proof"]["proven"], true, "{proven}");
        let mode = profile["asking_mode"].as_str().unwrap().to_owned();
        let scene = Self { world, models, agent, mode, id: RefCell::new("s".to_owned()) };
        scene.world.launch(&["--role", "dev", "--structured", "--id", "s"]);
        Some(scene)
    }

    fn id(&self) -> String {
        self.id.borrow().clone()
    }

    fn row(&self) -> BTreeMap<String, String> {
        self.world.session(&self.id())
    }

    fn shown(&self) -> Value {
        self.world.json(["session", "show", &self.id()])["protocol"].clone()
    }

    fn has(&self, name: &str) -> bool {
        self.world.root().join(name).exists()
    }

    fn prompt(&self, text: &str) -> String {
        self.world.json(["prompt", &self.id(), text])["message_id"].to_string()
    }

    /// A prompt that has the model run a command.
    fn has_it_run(&self, command: &str) -> String {
        self.prompt(&format!("do {}", self.agent.to_run(command)))
    }

    /// Has the noise beside the agent say something.
    fn noise(&self, words: &str) {
        let mut fifo = fs::OpenOptions::new().write(true).open(self.world.dir().join("noise")).unwrap();
        writeln!(fifo, "{words}").unwrap();
    }

    /// What the client has answered to the noise.
    fn answers_to_noise(&self) -> String {
        fs::read_to_string(self.world.dir().join("noise.answers")).unwrap_or_default()
    }

    fn interrupt(&self) -> String {
        self.world.run(["session", "interrupt", &self.id()]).exits(0).stdout
    }

    fn peek(&self) -> String {
        self.world.run(["session", "peek", &self.id(), "--lines", "0"]).exits(0).stdout
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        eventually(text, || self.peek().contains(text).then_some(()));
    }

    fn approvals(&self) -> Vec<Value> {
        self.world.json(["approvals", "list"]).as_array().unwrap().clone()
    }

    /// Waits for the question about a command.
    #[track_caller]
    fn asked(&self, command: &str) -> Value {
        let is_meant = |one: &Value| one["input"]["command"].as_str().is_some_and(|text| text.contains(command));
        let asked = || self.approvals().into_iter().find(is_meant);
        let found = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), asked);
        found.unwrap_or_else(|| panic!("{:?} never asks for {command}: {}", self.agent, self.peek()))
    }

    #[track_caller]
    fn answer(&self, asked: &Value, words: &[&str]) {
        let id = asked["id"].to_string();
        self.world.run(["approvals", "answer", &id].iter().chain(words)).exits(0);
    }

    #[track_caller]
    fn wait_until_idle(&self) {
        let is_idle = || (self.row()["activity"] == "idle").then_some(());
        let found = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), is_idle);
        assert!(found.is_some(), "{:?} is never idle: {:?} {}", self.agent, self.approvals(), self.peek());
    }

    /// Waits until the model is told a text that is new.
    #[track_caller]
    fn is_told(&self, words: &str) {
        eventually(words, || self.models.requests().iter().any(|one| one.has_new(words)).then_some(()));
    }

    /// Prompts, and checks that the model still knows the word of an earlier turn.
    #[track_caller]
    fn remembers(&self, words: &str) {
        self.prompt(words);
        let request = eventually(words, || self.models.requests().into_iter().find(|one| one.has_new(words)));
        assert!(request.count("the word after") > 0, "{:?} has forgotten the conversation", self.agent);
        self.wait_until_idle();
    }

    /// The ids of the calls that were decided, each as often as it was.
    fn decided(&self) -> Vec<String> {
        let decisions = self.world.rows("SELECT context FROM guard_decisions ORDER BY id");
        let contexts = decisions.iter().map(|row| serde_json::from_str::<Value>(&row["context"]).unwrap());
        contexts.map(|context| context["call_id"].to_string()).collect()
    }
}

fn passes_the_matrix(agent: Structured) {
    let cases: BTreeSet<&str> = STEPS.iter().flat_map(|(cases, _)| *cases).copied().collect();
    assert_eq!(cases.len(), CASES);
    let Some(scene) = RealScene::of(agent) else { return };
    for (cases, step) in STEPS {
        println!("{}", cases.join("\n"));
        step(&scene);
    }
}

#[test]
fn claude_passes_the_matrix() {
    passes_the_matrix(Structured::Known(Agent::Claude));
}

#[test]
fn codex_passes_the_matrix() {
    passes_the_matrix(Structured::Known(Agent::Codex));
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn gemini_passes_the_matrix() {
    passes_the_matrix(Structured::Known(Agent::Gemini));
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn opencode_passes_the_matrix() {
    passes_the_matrix(Structured::OpenCode);
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn qwen_passes_the_matrix() {
    passes_the_matrix(Structured::Qwen);
}
