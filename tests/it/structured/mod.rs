//! Structured sessions: an agent that speaks the Agent Client Protocol, from the launch to its end.

mod day;
mod decisions;
mod frames;
mod launch;
mod limits;
mod misbehaviour;
mod new_agent;
mod permissions;
mod proof;
pub(crate) mod real_agents;
mod switch;
mod turns;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sessions::{Sessions, eventually};

/// The agent of the tests, which no profile knows.
fn agent() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acp_agent.py")
}

/// A project with that agent as the provider `fake`.
struct Scene(Sessions);

impl std::ops::Deref for Scene {
    type Target = Sessions;

    fn deref(&self) -> &Sessions {
        &self.0
    }
}

impl Scene {
    /// With more of the configuration, and a start of the agent by its own words. An agent that behaves is proven to ask.
    fn with(start: &str, more: &str) -> Self {
        let scene = Self::unproven(start, more);
        if start.is_empty() || start == "steer" {
            scene.run(["doctor", "agents", "fake"]).exits(0);
            // The prompt of the canary.
            fs::remove_file(scene.dir().join("prompts")).unwrap();
        }
        scene
    }

    fn unproven(start: &str, more: &str) -> Self {
        let world = Sessions::new();
        let log = world.dir().join("prompts").display().to_string();
        world.configure(&format!(
            "[roles.dev]\nprovider = \"fake\"\n[providers.fake.acp]\ncommand = [{:?}]\nmode = \"ask\"\n\
             [providers.fake.env]\nFAKE_ACP = {start:?}\nFAKE_ACP_LOG = {log:?}\n{more}",
            agent().display().to_string()
        ));
        world.run(["trust"]).exits(0);
        Self(world)
    }

    fn new() -> Self {
        Self::with("", "")
    }

    /// With the session `s`.
    fn launched() -> Self {
        let scene = Self::new();
        scene.begin();
        scene
    }

    fn begin(&self) -> Value {
        self.launch(&["--role", "dev", "--structured", "--id", "s"])
    }

    fn prompt(&self, text: &str) -> Value {
        self.json(["prompt", "s", text])["message_id"].clone()
    }

    fn is_idle(&self) -> bool {
        self.session("s")["activity"] == "idle"
    }

    fn wait_until_idle(&self) {
        eventually("it is idle", || self.is_idle().then_some(()));
    }

    /// The conversation as text.
    fn peek(&self) -> String {
        self.run(["session", "peek", "s"]).exits(0).stdout
    }

    /// Waits until the conversation holds a text.
    #[track_caller]
    fn shows(&self, text: &str) -> String {
        eventually(text, || Some(self.peek()).filter(|shown| shown.contains(text)))
    }

    /// Waits for the only pending approval.
    #[track_caller]
    fn asked(&self) -> Value {
        eventually("an approval", || match self.json(["approvals", "list"]).as_array()?.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.root().join(name).exists()
    }

    /// The prompts that the agent got, each with its parts.
    fn prompts(&self) -> Vec<Vec<String>> {
        let log = fs::read_to_string(self.dir().join("prompts")).unwrap_or_default();
        let parts = |line: &str| -> Vec<String> {
            let parts: Vec<Value> = serde_json::from_str(line).unwrap();
            parts.iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
        };
        log.lines().map(parts).collect()
    }
}
