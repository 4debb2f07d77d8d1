//! The vendors' agents over the Agent Client Protocol, on models that run in the test.

use std::{env, fs, path::PathBuf};

use serde_json::json;

use crate::{
    common::{
        agent_programs::Agent,
        mock_models::{ESCALATED, MockModels},
        require,
    },
    sessions::{Sessions, eventually, marked},
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

/// A project in which the agent is launched as the session `s`, with its built-in profile.
struct RealScene {
    world: Sessions,
    models: MockModels,
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
             [providers.{name}]\ncommand = {terminal:?}\n[providers.{name}.env]\n{vars}"
        ));
        world.run(["trust"]).exits(0);
        let proven = world.json(["doctor", "agents", name, "--yes"]);
        assert_eq!(proven[0]["proof"]["proven"], true, "{proven}");
        let scene = Self { world, models };
        scene.world.launch(&["--role", "dev", "--structured", "--id", "s"]);
        Some(scene)
    }

    fn has(&self, name: &str) -> bool {
        self.world.root().join(name).exists()
    }

    fn prompt(&self, text: &str) -> String {
        self.world.json(["prompt", "s", text])["message_id"].to_string()
    }

    fn peek(&self) -> String {
        self.world.run(["session", "peek", "s"]).exits(0).stdout
    }

    /// The conversation goes on in the agent's own terminal, and back again.
    fn goes_on_in_a_terminal_and_back(&self, agent: Structured) {
        let world = &self.world;
        let before = world.session("s")["external_session_id"].clone();
        world.run(["session", "terminal", "s"]).exits(0);
        assert_eq!(world.session("s")["backend"], "tmux", "{agent:?}");
        eventually("the terminal shows the conversation", || self.peek().contains("the word after").then_some(()));
        let words: &[&str] = if agent.reports_in_a_terminal() { &[] } else { &["--cancel-turn"] };
        world.run(["session", "structured", "s"].iter().chain(words)).exits(0);
        assert_eq!(
            (&world.session("s")["backend"], &world.session("s")["external_session_id"]),
            (&"acp".into(), &before)
        );
        self.prompt("the word of the end");
        let request = eventually("the model is told it", || {
            self.models.requests().into_iter().find(|one| one.has_new("the word of the end"))
        });
        assert!(request.count("the word after") > 0, "{agent:?} has forgotten the conversation");
        self.wait_until_idle();
    }

    #[track_caller]
    fn wait_until_idle(&self) {
        eventually("it is idle", || (self.world.session("s")["activity"] == "idle").then_some(()));
    }

    /// Waits for the question, and answers it.
    #[track_caller]
    fn answer(&self, decision: &str) {
        let asked = eventually("an approval", || self.world.json(["approvals", "list"]).as_array()?.first().cloned());
        assert_eq!(asked["tool"], "Bash", "{asked}");
        self.world.run(["approvals", "answer", &asked["id"].to_string(), decision]).exits(0);
    }
}

fn works(agent: Structured) {
    // Codex asks only for what its sandbox does not allow: the mark has the model ask for a run outside of it.
    let mark = if agent == Structured::Known(Agent::Codex) { ESCALATED } else { "" };
    let Some(scene) = RealScene::of(agent) else { return };
    let world = &scene.world;
    let shown = world.json(["session", "show", "s"]);
    assert_eq!(shown["protocol"]["guarded"], true, "{shown}");
    // Allowed, with a receipt.
    let message = scene.prompt(&format!("do RUN[[touch allowed{mark}]]"));
    scene.answer("allow");
    eventually("the command ran", || scene.has("allowed").then_some(()));
    scene.wait_until_idle();
    let status = format!("SELECT status FROM messages WHERE id = {message}");
    assert_eq!(world.rows(&status)[0]["status"], "acknowledged");
    assert!(scene.peek().contains("* Bash: touch allowed"), "{}", scene.peek());
    let total = world.json(["usage", "--by", "session", "--session", "s"])["total"].clone();
    let is_told = total["turns"] == 1 && total["output_tokens"].as_u64() > Some(0);
    assert_eq!(is_told, agent.tells_usage(), "{total}");
    // Denied.
    scene.prompt(&format!("do RUN[[touch denied{mark}]]"));
    scene.answer("deny");
    scene.wait_until_idle();
    assert!(!scene.has("denied"), "{}", scene.peek());
    // Cancelled, with the question open.
    scene.prompt(&format!("do RUN[[touch cancelled{mark}]]"));
    eventually("it asks", || (world.json(["approvals", "list"]) != json!([])).then_some(()));
    world.run(["session", "interrupt", "s"]).exits(0);
    scene.wait_until_idle();
    assert_eq!(world.json(["approvals", "list"]), json!([]));
    assert!(!scene.has("cancelled"));
    scene.prompt("the word after");
    eventually("the model is told it", || {
        scene.models.requests().iter().any(|one| one.has_new("the word after")).then_some(())
    });
    scene.wait_until_idle();
    scene.goes_on_in_a_terminal_and_back(agent);
    // Stopped with all its processes.
    let run = world.session("s")["run_id"].clone();
    world.run(["session", "stop", "s"]).exits(0);
    assert_eq!(marked(&run).unwrap(), []);
    assert!(fs::metadata(&world.session("s")["transcript"]).is_ok());
}

#[test]
fn claude_works_structured() {
    works(Structured::Known(Agent::Claude));
}

#[test]
fn codex_works_structured() {
    works(Structured::Known(Agent::Codex));
}

#[test]
fn gemini_works_structured() {
    works(Structured::Known(Agent::Gemini));
}

#[test]
fn opencode_works_structured() {
    works(Structured::OpenCode);
}

#[test]
fn qwen_works_structured() {
    works(Structured::Qwen);
}
