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
}

impl Structured {
    fn provider(self) -> &'static str {
        match self {
            Self::Known(agent) => agent.name(),
            Self::OpenCode => "opencode",
        }
    }

    /// The directory of its program; `None` where it is not installed.
    fn programs(self) -> Option<PathBuf> {
        let program = match self {
            Self::Known(Agent::Claude) => "claude-agent-acp",
            Self::Known(Agent::Codex) => "codex-acp",
            Self::Known(Agent::Gemini) => "gemini",
            Self::OpenCode => "opencode",
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
        let path = env::join_paths(std::iter::once(programs).chain(env::split_paths(&path))).unwrap();
        world.set("PATH", path);
        let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
        let name = agent.provider();
        world.configure(&format!("[roles.dev]\nprovider = \"{name}\"\n[providers.{name}.env]\n{vars}"));
        world.run(["trust"]).exits(0);
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
    assert!(total["turns"] == 1 && total["output_tokens"].as_u64() > Some(0), "{total}");
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
