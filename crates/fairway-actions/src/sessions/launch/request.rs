//! The input of a launch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::program::CommandSpec;
use super::provider_hooks::ProviderHooks;
use fairway_core::domain::id::Label;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Role, SessionId, TaskId};

#[derive(Debug, Clone)]
pub struct LaunchRequest {
    /// The role; by default that of the lane, else that of the task.
    pub role: Option<Role>,
    pub lane: Option<LaneName>,
    pub backend: Option<String>,
    /// Whether it runs without a terminal, in the backend `acp`. Excludes `backend`.
    pub structured: bool,
    pub provider: Option<Label>,
    pub task: Option<TaskId>,
    pub id: Option<SessionId>,
    /// Whether `id` is that of a live session, whose program the launch replaces.
    pub keeps_id: bool,
    /// Without `id`: the base of the session's id. The first free one of `web`, `web-2`, `web-3` and so on is used.
    pub id_base: Option<SessionId>,
    pub worktree: Option<PathBuf>,
    pub branch: Option<String>,
    pub transcript: Option<PathBuf>,
    /// Additional environment variables; an empty value unsets.
    pub env: BTreeMap<String, String>,
    pub command: Option<CommandSpec>,
    /// The first prompt.
    pub prompt: Option<String>,
    /// The provider's id of the conversation to resume.
    pub resume: Option<String>,
    /// The sandbox; by default that of the role, else of the configuration.
    pub sandbox: Option<SandboxClass>,
    /// Whether the provider's profile adds no arguments to the program.
    pub no_profile: bool,
    pub hooks: &'static dyn ProviderHooks,
}

impl LaunchRequest {
    /// A request that sets nothing but the hooks.
    pub const fn new(hooks: &'static dyn ProviderHooks) -> Self {
        Self {
            role: None,
            lane: None,
            backend: None,
            structured: false,
            provider: None,
            task: None,
            id: None,
            keeps_id: false,
            id_base: None,
            worktree: None,
            branch: None,
            transcript: None,
            env: BTreeMap::new(),
            command: None,
            prompt: None,
            resume: None,
            sandbox: None,
            no_profile: false,
            hooks,
        }
    }
}
