//! The matrix: every case with each of the agents' own programs over the Agent Client Protocol, on models that run in the test. A soak
//! run repeats prompts and switches.

use std::{cell::RefCell, collections::BTreeMap, env, fs, path::PathBuf};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    common::{
        agent_programs::Agent,
        mock_models::{ESCALATED, MockModels},
        require, soak,
    },
    sessions::{Sessions, eventually, marked, text},
};

/// An agent that speaks the protocol, by its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Structured {
    Known(Agent),
    OpenCode,
    Qwen,
}

impl Structured {
    fn provider(self) -> &'static str {
        match self {
            Self::Known(agent) => agent.name(),
            Self::OpenCode => "opencode",
            Self::Qwen => "qwen",
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

    /// Its command for a terminal in which no person sits.
    fn terminal_command(self) -> String {
        let args = if let Self::Known(agent) = self { agent.unattended_args() } else { Vec::new() };
        let words: Vec<String> = std::iter::once(self.provider().to_owned()).chain(args).collect();
        shell_words::join(words)
    }

    /// Whether it tells in its answers how many tokens it has used.
    fn tells_usage(self) -> bool {
        self != Self::Qwen
    }

    /// The directory of its program; `None` where it is not installed.
    fn programs(self) -> Option<PathBuf> {
        let program = match self {
            Self::Known(Agent::Claude) => "claude-agent-acp",
            Self::Known(Agent::Codex) => "codex-acp",
            Self::Known(Agent::Gemini) => "gemini",
            Self::OpenCode => "opencode",
            Self::Qwen => "qwen",
        };
        let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home)?;
        let directory = cache.join("fairway-tests/npm-acp/node_modules/.bin");
        let reason = format!("{program} is not installed in {}; tests/run.sh installs it", directory.display());
        require::met(directory.join(program).is_file(), reason).then_some(directory)
    }

    fn configure(self, world: &Sessions, models: &MockModels) -> Vec<(&'static str, String)> {
        match self {
            Self::Known(agent) => {
                let mut vars = agent.configure(world, models);
                // It starts no session as root otherwise.
                vars.extend((agent == Agent::Claude).then(|| ("IS_SANDBOX", "1".to_owned())));
                vars
            }
            Self::OpenCode => {
                let provider = json!({
                    "npm": "@ai-sdk/anthropic", "name": "mock", "models": { "m": { "name": "m" } },
                    "options": { "baseURL": format!("{}/v1", models.address()), "apiKey": "mock" },
                });
                let settings = json!({
                    "model": "mock/m", "small_model": "mock/m", "autoupdate": false, "provider": { "mock": provider },
                });
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
const RULE: &str = "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"no-canary\"\ntools = [\"Bash\"]\n\
     command = [\"touch\", \"forbidden\"]\naction = \"deny\"\nreason = \"as a rule\"\n";

/// What is seen, and how.
type Case = (&'static str, fn(&RealScene));

/// What an agent is tried with, in this order, in one world.
const CASES: &[Case] = &[
    ("it is in the mode that asks, and that is proven", RealScene::is_guarded),
    ("a person allows a command, and the prompt has a receipt", RealScene::allows),
    ("its usage is told", RealScene::tells_usage),
    ("a person denies a command", RealScene::denies),
    ("the guard denies a command without a person", RealScene::guards),
    ("a turn is cancelled with its question open", RealScene::cancels),
    ("each of these calls has one decision", RealScene::has_decisions),
    ("prompts are delivered and acknowledged once", RealScene::delivers),
    ("the conversation goes on in a terminal and back", RealScene::switches),
    ("the agent is killed, and its conversation goes on in a relaunch", RealScene::survives),
    ("the supervisor is killed, and nothing of the agent is left", RealScene::ends_with_its_supervisor),
];

/// A project in which the agent is launched, with its built-in profile.
struct RealScene {
    world: Sessions,
    models: MockModels,
    agent: Structured,
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
        let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
        let name = agent.provider();
        let terminal = agent.terminal_command();
        world.configure(&format!(
            "[roles.dev]\nprovider = \"{name}\"\n[sessions]\ndefault_backend = \"tmux\"\n\
             [providers.{name}]\ncommand = {terminal:?}\n[providers.{name}.env]\n{vars}{RULE}"
        ));
        world.run(["trust"]).exits(0);
        let proven = world.json(["doctor", "agents", name, "--yes"]);
        assert_eq!(proven[0]["proof"]["proven"], true, "{proven}");
        let scene = Self { world, models, agent, id: RefCell::new("s".to_owned()) };
        scene.world.launch(&["--role", "dev", "--structured", "--id", "s"]);
        Some(scene)
    }

    fn id(&self) -> String {
        self.id.borrow().clone()
    }

    fn row(&self) -> BTreeMap<String, String> {
        self.world.session(&self.id())
    }

    fn has(&self, name: &str) -> bool {
        self.world.root().join(name).exists()
    }

    fn prompt(&self, text: &str) -> String {
        self.world.json(["prompt", &self.id(), text])["message_id"].to_string()
    }

    /// A prompt that has the model run a command. Codex asks only for what its sandbox does not allow: the mark has the model ask
    /// for a run outside of it.
    fn has_it_run(&self, command: &str) -> String {
        let mark = if self.agent == Structured::Known(Agent::Codex) { ESCALATED } else { "" };
        self.prompt(&format!("do RUN[[{command}{mark}]]"))
    }

    fn peek(&self) -> String {
        self.world.run(["session", "peek", &self.id()]).exits(0).stdout
    }

    fn approvals(&self) -> Value {
        self.world.json(["approvals", "list"])
    }

    #[track_caller]
    fn wait_until_idle(&self) {
        eventually("it is idle", || (self.row()["activity"] == "idle").then_some(()));
    }

    /// Waits for the question, and answers it.
    #[track_caller]
    fn answer(&self, decision: &str) {
        let asked = eventually("an approval", || self.approvals().as_array()?.first().cloned());
        assert_eq!(asked["tool"], "Bash", "{asked}");
        self.world.run(["approvals", "answer", &asked["id"].to_string(), decision]).exits(0);
    }

    /// Prompts, and checks that the model still knows the word of an earlier turn.
    #[track_caller]
    fn remembers(&self, words: &str) {
        self.prompt(words);
        let request =
            eventually("the model is told it", || self.models.requests().into_iter().find(|one| one.has_new(words)));
        assert!(request.count("the word after") > 0, "{:?} has forgotten the conversation", self.agent);
        self.wait_until_idle();
    }

    fn is_guarded(&self) {
        let shown = self.world.json(["session", "show", &self.id()]);
        assert_eq!(shown["protocol"]["guarded"], true, "{shown}");
        assert!(shown["protocol"]["proven_at"].is_string(), "{shown}");
    }

    fn allows(&self) {
        let message = self.has_it_run("touch allowed");
        self.answer("allow");
        eventually("the command ran", || self.has("allowed").then_some(()));
        self.wait_until_idle();
        let status = format!("SELECT status FROM messages WHERE id = {message}");
        assert_eq!(self.world.rows(&status)[0]["status"], "acknowledged");
        assert!(self.peek().contains("* Bash: touch allowed"), "{}", self.peek());
    }

    fn tells_usage(&self) {
        let total = self.world.json(["usage", "--by", "session", "--session", &self.id()])["total"].clone();
        let is_told = total["turns"] == 1 && total["output_tokens"].as_u64() > Some(0);
        assert_eq!(is_told, self.agent.tells_usage(), "{total}");
    }

    fn denies(&self) {
        self.has_it_run("touch denied");
        self.answer("deny");
        self.wait_until_idle();
        assert!(!self.has("denied"), "{}", self.peek());
    }

    fn guards(&self) {
        self.has_it_run("touch forbidden");
        eventually("the denial", || self.peek().contains("[denied: no-canary: as a rule]").then_some(()));
        self.wait_until_idle();
        assert_eq!((self.has("forbidden"), self.approvals()), (false, json!([])));
    }

    fn cancels(&self) {
        self.has_it_run("touch cancelled");
        eventually("it asks", || (self.approvals() != json!([])).then_some(()));
        self.world.run(["session", "interrupt", &self.id()]).exits(0);
        self.wait_until_idle();
        assert_eq!((self.has("cancelled"), self.approvals()), (false, json!([])));
        self.prompt("the word after");
        eventually("the model is told it", || {
            self.models.requests().iter().any(|one| one.has_new("the word after")).then_some(())
        });
        self.wait_until_idle();
    }

    fn has_decisions(&self) {
        let decisions = self.world.rows("SELECT context FROM guard_decisions ORDER BY id");
        let mut calls: Vec<String> = decisions
            .iter()
            .map(|row| serde_json::from_str::<Value>(&row["context"]).unwrap()["call_id"].to_string())
            .collect();
        let all = calls.len();
        calls.sort();
        calls.dedup();
        // Allowed, denied, forbidden and cancelled.
        assert_eq!((all, calls.len()), (4, 4), "{calls:?}");
    }

    fn delivers(&self) {
        let count = if soak::is_on() { 1_000 } else { 3 };
        for number in 0..count {
            self.prompt(&format!("word {number}."));
        }
        let open = "SELECT id FROM messages WHERE status <> 'acknowledged'";
        eventually("all are acknowledged", || self.world.rows(open).is_empty().then_some(()));
        self.wait_until_idle();
        let heard: Vec<String> = self.models.requests().into_iter().flat_map(|one| one.new).collect();
        for number in 0..count {
            let word = format!("word {number}.");
            assert_eq!(heard.iter().map(|text| text.matches(&word).count()).sum::<usize>(), 1, "{word}");
        }
    }

    fn switches(&self) {
        let listed = self.world.json(["provider", "list"]);
        let own = listed.as_array().unwrap().iter().find(|one| one["name"] == self.agent.provider()).unwrap();
        if own["switches"] == false {
            self.world.run(["session", "terminal", &self.id()]).exits(2);
            return self.remembers("the words of the same turn");
        }
        assert_eq!(own["switches"], true);
        let before = self.row()["external_session_id"].clone();
        let words: &[&str] = if self.agent.reports_in_a_terminal() { &[] } else { &["--cancel-turn"] };
        for round in 0..if soak::is_on() { 50 } else { 1 } {
            self.world.run(["session", "terminal", &self.id()]).exits(0);
            assert_eq!(self.row()["backend"], "tmux");
            if round == 0 {
                let has_words = || self.peek().contains("word 2.").then_some(());
                eventually("the terminal shows the conversation", has_words);
            }
            self.world.run(["session", "structured", &self.id()].iter().chain(words)).exits(0);
            assert_eq!((&self.row()["backend"], &self.row()["external_session_id"]), (&"acp".into(), &before));
            self.remembers(&format!("the round {round}."));
        }
    }

    fn survives(&self) {
        let (run, supervisor) = (self.row()["run_id"].clone(), self.row()["pid"].clone());
        self.has_it_run("touch orphaned");
        eventually("it asks", || (self.approvals() != json!([])).then_some(()));
        let is_child = |pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().unwrap().split_whitespace().nth(1) == Some(&supervisor)
        };
        for key in marked(&run).unwrap().into_iter().filter(|key| is_child(key.pid)) {
            kill(Pid::from_raw(key.pid), Signal::SIGKILL).unwrap();
        }
        eventually("its end", || (self.row()["status"] == "failed").then_some(()));
        eventually("no process is left", || marked(&run).unwrap().is_empty().then_some(()));
        assert_eq!((self.has("orphaned"), self.approvals()), (false, json!([])));
        let next = self.world.run(["--json", "session", "relaunch", &self.id()]);
        if next.code != Some(0) && self.agent.may_lose_its_conversation() {
            assert!(next.stderr.contains("No previous sessions found"), "{next:?}");
            self.world.launch(&["--role", "dev", "--structured", "--id", "again"]);
            self.id.replace("again".to_owned());
            return;
        }
        self.id.replace(text(&next.exits(0).json()["id"]));
        self.wait_until_idle();
        self.remembers("the words of the relaunch");
    }

    fn ends_with_its_supervisor(&self) {
        let run = self.row()["run_id"].clone();
        kill(Pid::from_raw(self.row()["pid"].parse().unwrap()), Signal::SIGKILL).unwrap();
        eventually("no process is left", || marked(&run).unwrap().is_empty().then_some(()));
        assert_eq!(self.world.json(["session", "show", &self.id()])["alive"], false);
    }
}

fn passes_the_matrix(agent: Structured) {
    let Some(scene) = RealScene::of(agent) else { return };
    for (name, case) in CASES {
        println!("{name}");
        case(&scene);
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
fn gemini_passes_the_matrix() {
    passes_the_matrix(Structured::Known(Agent::Gemini));
}

#[test]
fn opencode_passes_the_matrix() {
    passes_the_matrix(Structured::OpenCode);
}

#[test]
fn qwen_passes_the_matrix() {
    passes_the_matrix(Structured::Qwen);
}
