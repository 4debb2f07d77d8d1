//! The profile of an agent's command line: how it takes a first prompt and hooks, and what its screen shows.
//! Profiles are data: the built-in ones stand in `providers.toml`, and `[providers.NAME]` overrides them key by key.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::AcpProfile;

/// The built-in profiles, by program name.
const BUILT_IN: &str = include_str!("providers.toml");

/// The profile of a provider. A key that is `None` is unknown: Fairway then does without.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderProfile {
    /// The arguments at the end that bring a first prompt; `{prompt}` stands for a fixed sentence, never for a person's text.
    pub prompt_args: Option<Vec<String>>,
    /// The arguments that bring Fairway's hooks for one launch; `{hooks}` stands for the path of a settings file, or for one
    /// setting: the arguments are then repeated for each.
    pub hook_args: Option<Vec<String>>,
    /// The arguments that let the provider's own sandbox write directories; `{dirs}` stands for all of them as a JSON list,
    /// `{dir}` for one: the arguments are then repeated for each.
    pub writable_args: Option<Vec<String>>,
    /// The arguments that set the provider's own sandbox off, which cannot start in a sandbox of Fairway's.
    pub unsandboxed_args: Option<Vec<String>>,
    /// The arguments that resume a conversation; `{conversation}` stands for its id.
    pub resume_args: Option<Vec<String>>,
    /// The keys that interrupt a turn, in tmux's names.
    pub interrupt_keys: Option<Vec<String>>,
    /// The environment variable with the conversation's id, which the provider sets for the programs that it starts.
    pub session_variable: Option<String>,
    /// Texts of which one is on the screen while it asks whether the directory, or its hooks, are trusted, or for a login.
    pub trust_question: Option<Vec<String>>,
    /// Texts of which one is on the screen while it asks for a permission.
    pub permission_question: Option<Vec<String>>,
    /// Texts of which one is on the screen during a turn.
    pub working_sign: Option<Vec<String>>,
    /// Texts of which one is at the end of the screen once a person has ended a turn in the middle of a tool call.
    pub interrupted_sign: Option<Vec<String>>,
    /// The version with which every key was tried.
    pub proven_with: Option<String>,
    /// How it runs without a terminal.
    pub acp: Option<AcpProfile>,
}

impl ProviderProfile {
    /// Each key from this profile, else from `below`.
    #[must_use]
    pub fn with_fallback(self, below: Self) -> Self {
        Self {
            prompt_args: self.prompt_args.or(below.prompt_args),
            hook_args: self.hook_args.or(below.hook_args),
            writable_args: self.writable_args.or(below.writable_args),
            unsandboxed_args: self.unsandboxed_args.or(below.unsandboxed_args),
            resume_args: self.resume_args.or(below.resume_args),
            interrupt_keys: self.interrupt_keys.or(below.interrupt_keys),
            session_variable: self.session_variable.or(below.session_variable),
            trust_question: self.trust_question.or(below.trust_question),
            permission_question: self.permission_question.or(below.permission_question),
            working_sign: self.working_sign.or(below.working_sign),
            interrupted_sign: self.interrupted_sign.or(below.interrupted_sign),
            proven_with: self.proven_with.or(below.proven_with),
            acp: match (self.acp, below.acp) {
                (Some(own), Some(below)) => Some(own.with_fallback(below)),
                (own, below) => own.or(below),
            },
        }
    }
}

/// The built-in profiles. Parsed at each call: only commands that start or read an agent need them.
pub fn built_in() -> BTreeMap<String, ProviderProfile> {
    toml::from_str(BUILT_IN).unwrap_or_default()
}

/// Every key of the built-in profiles with its value as TOML: `providers.NAME.KEY`.
pub(super) fn built_in_values() -> Vec<(String, toml::Value)> {
    let all: toml::Table = toml::from_str(BUILT_IN).unwrap_or_default();
    let of_one = |(name, keys): (String, toml::Value)| {
        let mut keys = keys.try_into::<toml::Table>().unwrap_or_default();
        let acp = keys.remove("acp").and_then(|acp| acp.try_into::<toml::Table>().ok()).unwrap_or_default();
        let acp = acp.into_iter().map(|(key, value)| (format!("acp.{key}"), value));
        keys.into_iter().chain(acp).map(|(key, value)| (format!("providers.{name}.{key}"), value)).collect::<Vec<_>>()
    };
    all.into_iter().flat_map(of_one).collect()
}

/// The providers with a built-in `session_variable`, each with its variable. Reads only these lines, so that a command can
/// ask for them at its start without parsing the profiles.
pub fn session_variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut provider = "";
    BUILT_IN.lines().filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            provider = name;
        }
        let variable = line.strip_prefix("session_variable = \"")?.strip_suffix('"')?;
        Some((provider, variable))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_variables_are_those_of_the_parsed_profiles() {
        let parsed = built_in().into_iter().filter_map(|(name, profile)| Some((name, profile.session_variable?)));
        let read = session_variables().map(|(name, variable)| (name.to_owned(), variable.to_owned()));
        assert_eq!(read.collect::<Vec<_>>(), parsed.collect::<Vec<_>>());
        assert!(session_variables().count() > 0);
    }

    #[test]
    fn built_in_profiles_are_read_and_overridden_key_by_key() {
        let all: BTreeMap<String, ProviderProfile> = toml::from_str(BUILT_IN).unwrap();
        assert_eq!(all.len(), 10);
        for profile in all.into_values() {
            let own = ProviderProfile { interrupt_keys: Some(vec!["C-c".into()]), ..ProviderProfile::default() };
            let merged = own.with_fallback(profile.clone());
            assert_eq!(merged.interrupt_keys.as_deref(), Some(&["C-c".to_owned()][..]));
            assert_eq!((merged.prompt_args, merged.proven_with), (profile.prompt_args, profile.proven_with));
        }
    }
}
