//! How sessions of a role or provider are launched.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ProviderProfile, values::unknown_value};
use crate::domain::{LaneName, id::Label, rules::initial_prompt::PromptDelivery};

/// How a role or provider is launched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchSettings {
    /// The provider, of a role.
    pub provider: Option<Label>,
    /// The backend, of a role.
    pub backend: Option<String>,
    /// The lane, of a role.
    pub lane: Option<LaneName>,
    /// The program.
    pub program: ProgramSettings,
    /// The profile, of a provider.
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
    /// Every shell text that it would run beside the program, with its key.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("pre_start", &self.pre_start), ("session_setup", &self.session_setup), ("session_live", &self.session_live)]
            .into_iter()
            .flat_map(|(key, commands)| commands.iter().flatten().map(move |command| (key, command.as_str())))
    }
}

/// A section as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    provider: Option<String>,
    backend: Option<String>,
    lane: Option<String>,
    command: Option<String>,
    env: BTreeMap<String, String>,
    process_names: Option<Vec<String>>,
    prompt: Option<String>,
    ready_prompt_prefix: Option<String>,
    ready_delay_ms: Option<i64>,
    pre_start: Option<Vec<String>>,
    session_setup: Option<Vec<String>>,
    session_setup_script: Option<String>,
    session_live: Option<Vec<String>>,
    #[serde(flatten)]
    profile: ProviderProfile,
}

/// The longest delay, in milliseconds: what takes longer tells it in another way.
const MAX_READY_DELAY_MS: u64 = 120_000;

/// The entries of `[roles.*]` or `[providers.*]`.
///
/// # Errors
/// The key and what is wrong with its value.
pub(super) fn parse_entries(
    section: &str,
    raw: BTreeMap<String, Raw>,
) -> Result<BTreeMap<String, LaunchSettings>, (String, String)> {
    raw.into_iter()
        .map(|(name, raw)| Ok((name.clone(), parse_entry(&format!("{section}.{name}"), &name, raw)?)))
        .collect()
}

fn parse_entry(place: &str, name: &str, raw: Raw) -> Result<LaunchSettings, (String, String)> {
    let at = |key: &str| format!("{place}.{key}");
    Label::parse(name).map_err(|why| (place.to_owned(), why.to_string()))?;
    let provider = raw.provider.as_deref().map(Label::parse).transpose();
    let lane = raw.lane.as_deref().map(LaneName::parse).transpose();
    let prompt = raw.prompt.as_deref().map(|word| {
        PromptDelivery::parse(word).ok_or_else(|| {
            let all: Vec<&str> = PromptDelivery::ALL.iter().map(|way| way.as_str()).collect();
            (at("prompt"), unknown_value(word, &all))
        })
    });
    let is_name = |name: &String| !name.is_empty() && !name.contains(['/', '\n', '\0']);
    if raw.process_names.iter().flatten().any(|name| !is_name(name)) {
        return Err((at("process_names"), "must be names of programs, without a path".to_owned()));
    }
    if raw.ready_prompt_prefix.as_ref().is_some_and(|prefix| prefix.is_empty() || prefix.contains(char::is_control)) {
        return Err((at("ready_prompt_prefix"), "must be the beginning of one line".to_owned()));
    }
    let delay = raw.ready_delay_ms.map(|delay| {
        let fits = u64::try_from(delay).ok().filter(|delay| *delay <= MAX_READY_DELAY_MS);
        fits.ok_or_else(|| (at("ready_delay_ms"), format!("must be 0 to {MAX_READY_DELAY_MS}")))
    });
    Ok(LaunchSettings {
        provider: provider.map_err(|why| (at("provider"), why.to_string()))?,
        backend: raw.backend,
        lane: lane.map_err(|why| (at("lane"), why.to_string()))?,
        program: ProgramSettings {
            command: raw.command,
            process_names: raw.process_names,
            prompt: prompt.transpose()?,
            ready_prompt_prefix: raw.ready_prompt_prefix,
            ready_delay_ms: delay.transpose()?,
        },
        profile: raw.profile,
        env: raw.env,
        pre_start: raw.pre_start,
        session_setup: raw.session_setup,
        session_setup_script: raw.session_setup_script,
        session_live: raw.session_live,
    })
}
