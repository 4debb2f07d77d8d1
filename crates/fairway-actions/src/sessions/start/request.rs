//! The input of a start.

use std::collections::BTreeMap;

use crate::sessions::launch::program::CommandSpec;
use crate::sessions::launch::provider_hooks::ProviderHooks;
use crate::sessions::launch::start::PromptWatch;
use fairway_core::domain::id::Label;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Role};

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct StartRequest {
    /// The description of a new task.
    pub body: Option<String>,
    /// The role; by default that of the task, else of the lane, else `agent`.
    pub role: Option<Role>,
    /// The lane; by default that of the task, else of the role, else a lane of the task's own.
    pub lane: Option<LaneName>,
    /// The provider; by default that of the role, else of the lane, else the only agent that is installed.
    pub provider: Option<Label>,
    /// The backend; by default that of the role, else of the lane, else of the configuration, else tmux where it is installed.
    pub backend: Option<String>,
    /// Whether it runs without a terminal, in the backend `acp`.
    pub structured: bool,
    /// Additional environment variables; an empty value unsets.
    pub env: BTreeMap<String, String>,
    pub command: Option<CommandSpec>,
    /// Text for the first prompt, after Fairway's own.
    pub prompt: Option<String>,
    /// The sandbox; by default that of the role, else of the configuration.
    pub sandbox: Option<SandboxClass>,
    /// Whether the provider's profile adds no arguments to the program.
    pub no_profile: bool,
    pub hooks: &'static dyn ProviderHooks,
    pub claims: bool,
    /// Whether it goes past a parking of the provider.
    pub anyway: bool,
    /// How long the start waits for the delivery of the first prompt.
    pub watch: PromptWatch,
}

impl StartRequest {
    /// A start with a claim, in which everything else is the default.
    pub const fn new(hooks: &'static dyn ProviderHooks) -> Self {
        Self {
            body: None,
            role: None,
            lane: None,
            provider: None,
            backend: None,
            structured: false,
            env: BTreeMap::new(),
            command: None,
            prompt: None,
            sandbox: None,
            no_profile: false,
            hooks,
            claims: true,
            anyway: false,
            watch: PromptWatch::Briefly,
        }
    }
}
