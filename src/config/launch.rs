//! How sessions of a role or provider are launched.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

use super::{ProviderProfile, SessionMode, values};
use crate::domain::{LaneName, id::Label, rules::initial_prompt::PromptDelivery, sandbox::SandboxClass};

/// How a role or provider is launched: a section `[roles.NAME]` or `[providers.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LaunchSettings {
    /// The provider, of a role.
    #[serde(deserialize_with = "provider")]
    pub provider: Option<Label>,
    /// The backend, of a role.
    pub backend: Option<String>,
    /// The lane, of a role.
    #[serde(deserialize_with = "lane")]
    pub lane: Option<LaneName>,
    /// How it runs, of a provider.
    #[serde(deserialize_with = "mode")]
    pub mode: Option<SessionMode>,
    /// The sandbox, of a role.
    #[serde(deserialize_with = "sandbox")]
    pub sandbox: Option<SandboxClass>,
    /// Shell text that a person wrote.
    pub command: Option<String>,
    /// Exact base names of its processes.
    #[serde(deserialize_with = "process_names")]
    pub process_names: Option<Vec<String>>,
    /// How it takes a first prompt.
    #[serde(deserialize_with = "prompt")]
    pub prompt: Option<PromptDelivery>,
    /// The beginning of its screen's line with which it takes input.
    #[serde(deserialize_with = "ready_prompt_prefix")]
    pub ready_prompt_prefix: Option<String>,
    /// How long to wait, in milliseconds, where nothing else tells.
    #[serde(deserialize_with = "ready_delay_ms")]
    pub ready_delay_ms: Option<u64>,
    /// The profile, of a provider.
    #[serde(flatten)]
    pub profile: ProviderProfile,
    /// The environment; an empty value unsets.
    pub env: BTreeMap<String, String>,
    /// Shell commands before the session is made.
    pub pre_start: Option<Vec<String>>,
    /// Shell commands once it is ready.
    pub session_setup: Option<Vec<String>>,
    /// A script that runs after them; a relative path is under the root.
    pub session_setup_script: Option<String>,
    /// Shell commands after that, which may be run again while it lives.
    pub session_live: Option<Vec<String>>,
}

/// A program, and how to tell that it takes input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramSettings {
    /// Shell text that a person wrote.
    pub command: Option<String>,
    /// Exact base names of its processes.
    pub process_names: Option<Vec<String>>,
    /// How it takes a first prompt.
    pub prompt: Option<PromptDelivery>,
    /// The beginning of its screen's line with which it takes input.
    pub ready_prompt_prefix: Option<String>,
    /// How long to wait, in milliseconds, where nothing else tells.
    pub ready_delay_ms: Option<u64>,
}

impl ProgramSettings {
    /// These settings, completed by those of the other entry.
    #[must_use]
    pub fn with_fallback(self, below: Self) -> Self {
        Self {
            command: self.command.or(below.command),
            process_names: self.process_names.or(below.process_names),
            prompt: self.prompt.or(below.prompt),
            ready_prompt_prefix: self.ready_prompt_prefix.or(below.ready_prompt_prefix),
            ready_delay_ms: self.ready_delay_ms.or(below.ready_delay_ms),
        }
    }
}

impl LaunchSettings {
    /// The program alone.
    pub fn program(&self) -> ProgramSettings {
        ProgramSettings {
            command: self.command.clone(),
            process_names: self.process_names.clone(),
            prompt: self.prompt,
            ready_prompt_prefix: self.ready_prompt_prefix.clone(),
            ready_delay_ms: self.ready_delay_ms,
        }
    }

    /// Every shell text that it would run beside the program, with its key.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("pre_start", &self.pre_start), ("session_setup", &self.session_setup), ("session_live", &self.session_live)]
            .into_iter()
            .flat_map(|(key, commands)| commands.iter().flatten().map(move |command| (key, command.as_str())))
    }
}

/// The longest delay, in milliseconds: a program that takes longer shows in another way that it is ready.
pub(super) const MAX_READY_DELAY_MS: u64 = 120_000;

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Label>, D::Error> {
    values::parsed(deserializer, Label::parse).map(Some)
}

fn lane<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LaneName>, D::Error> {
    values::parsed(deserializer, LaneName::parse).map(Some)
}

fn sandbox<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SandboxClass>, D::Error> {
    values::word(deserializer).map(Some)
}

fn mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SessionMode>, D::Error> {
    values::word(deserializer).map(Some)
}

fn prompt<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PromptDelivery>, D::Error> {
    values::word(deserializer).map(Some)
}

fn process_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let is_name = |name: &String| !name.is_empty() && !name.contains(['/', '\n', '\0']);
    let names = values::checked(deserializer, |names: &Vec<String>| {
        if names.iter().all(is_name) { Ok(()) } else { Err("must be names of programs, without a path") }
    });
    names.map(Some)
}

fn ready_prompt_prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::parsed(deserializer, |prefix| {
        let is_wrong = prefix.is_empty() || prefix.contains(char::is_control);
        if is_wrong { Err("must be the beginning of one line") } else { Ok(Some(prefix.to_owned())) }
    })
}

fn ready_delay_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let delay = u64::try_from(i64::deserialize(deserializer)?).ok().filter(|delay| *delay <= MAX_READY_DELAY_MS);
    delay.map(Some).ok_or_else(|| D::Error::custom(format!("must be 0 to {MAX_READY_DELAY_MS}")))
}
