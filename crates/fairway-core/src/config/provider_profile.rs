//! The profile of an agent's command line: how it takes a first prompt and hooks, and what its screen shows.
//! Profiles are data: the built-in ones stand in `providers.toml`, and `[providers.NAME]` overrides their settings key by key.

use std::collections::BTreeMap;

use toml::Value;

use super::sandbox::VariableName;
use super::section::{Reader, layered_section};
use super::values::impl_word;
use crate::domain::rules::proxy_hosts::OpenHost;
use crate::domain::rules::screen_dialog::{DialogShape, SubjectPlace};
use crate::domain::usage::UsageScope;

impl_word!(UsageScope);

/// The built-in profiles, by program name.
const BUILT_IN: &str = include_str!("providers.toml");

layered_section! {
    /// The profile of a provider. A key that is `None` is unknown: Fairway then does without.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ProviderProfile {
        /// The keys from here on are built in for the agents that Fairway knows. Arguments that resume a conversation.
        #[sample(["--resume", "{conversation}"])]
        pub resume_args: Option<Vec<String>>,
        /// Keys that interrupt a turn, in tmux's names.
        #[sample(["Escape"])]
        pub interrupt_keys: Option<Vec<String>>,
        /// Texts of which one is on the screen while it asks for trust in a directory or in hooks, or for a login.
        #[sample(["Do you trust"])]
        pub trust_question: Option<Vec<String>>,
        /// Texts of which one is on the screen while it asks for a permission.
        #[sample(["Do you want to proceed?"])]
        pub permission_question: Option<Vec<String>>,
        /// Texts of which one is on the screen during a turn.
        #[sample(["esc to interrupt"])]
        pub working_sign: Option<Vec<String>>,
    }
    parts {
        /// How it runs without a terminal.
        pub acp: Option<AcpProfile>,
    }
    beside {
        pub facts: AgentFacts,
    }
}

layered_section! {
    /// Facts of a program that Fairway was tried with. Only `providers.toml` states them: they are no settings.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AgentFacts {
        /// Arguments that bring a fixed first sentence; the prompt itself comes by hook.
        pub prompt_args: Option<Vec<String>>,
        /// Arguments that let its own sandbox write a directory, repeated for each; {dirs} stands for a list of all.
        pub writable_args: Option<Vec<String>>,
        /// Arguments that bring the hooks of one launch: a settings file, or one setting and then repeated.
        pub hook_args: Option<Vec<String>>,
        /// Arguments that set its own sandbox off, in a session that is in one of Fairway's.
        pub unsandboxed_args: Option<Vec<String>>,
        /// Hosts that it needs, which the proxy of a sandbox around it lets through.
        pub sandbox_hosts: Option<Vec<OpenHost>>,
        /// Variables with its login or its model's address, which reach it in a sandbox.
        pub sandbox_env: Option<Vec<String>> as Option<Vec<VariableName>>,
        /// The variable with the conversation's id in the environment of the programs that it starts.
        pub session_variable: Option<String>,
        /// Texts of which one is at the end of the screen once a person has ended a turn in the middle of a tool call.
        pub interrupted_sign: Option<Vec<String>>,
        /// The version with which the profile was tried.
        pub proven_with: Option<String>,
    }
    parts {
        /// How its transcript tells of a usage limit.
        pub limit: Option<LimitProfile>,
        /// The dialog in which it asks for a permission.
        pub permission_dialog: Option<DialogProfile>,
        /// The dialog in which the agent asks a question of its own with choices.
        pub choice_dialog: Option<DialogProfile>,
    }
}

layered_section! {
    /// An agent that speaks the Agent Client Protocol: a section `[providers.NAME.acp]`. A key that is `None` is unknown.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AcpProfile {
        /// The program that speaks the Agent Client Protocol, and its arguments; built in for the agents that fairway provider list
        /// names.
        #[sample(["gemini", "--acp"])]
        pub command: Option<Vec<String>>,
        /// The mode in which it asks before it runs a tool: set at the start and read back.
        #[sample("default")]
        pub mode: Option<String>,
        /// What it counts in its answers: the turn, everything since its process began, or the conversation.
        #[sample("process")]
        pub usage: Option<UsageScope>,
    }
    beside {
        pub facts: AcpFacts,
    }
}

layered_section! {
    /// Facts of such a program, stated as those in [`AgentFacts`].
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AcpFacts {
        /// Variables with which it asks, below those of the provider.
        pub env: Option<BTreeMap<String, String>>,
        /// Whether its question is about all calls that are pending, not about the one that it names.
        pub asks_for_all: Option<bool>,
        /// Why it is not proven to ask, or what would prove it.
        pub unproven: Option<String>,
        /// Whether a conversation was seen to go on in its terminal and back; false refuses that.
        pub switches: Option<bool>,
        /// The version that was seen to ask in this mode.
        pub proven_with: Option<String>,
    }
}

layered_section! {
    /// How a transcript (`field`, `value` and `time`) or an error of the protocol (`error`, `error_value` and `text`) tells of a usage
    /// limit. Without all keys of one, no session is parked by it.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct LimitProfile {
        /// The member of a line that tells of the limit; a dot leads into an object.
        pub field: Option<String>,
        /// Its value at a usage limit, and at no other refusal.
        pub value: Option<String>,
        /// The member with the time at which the limit passes, in seconds since 1970. In place of a `*` is each window that is used
        /// up.
        pub time: Option<String>,
        /// The member of the error that tells of the limit.
        pub error: Option<String>,
        /// What stands there at a limit.
        pub error_value: Option<String>,
        /// The words of the error's message before the time at which the limit passes.
        pub text: Option<String>,
        /// Whether its terminal goes on by itself when the limit has passed.
        pub goes_on: Option<bool>,
    }
}

layered_section! {
    /// A dialog on a provider's screen.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct DialogProfile {
        /// The question that it asks; none where that is the agent's own.
        pub question: Option<String>,
        /// The beginning of the last line of the screen.
        pub end: Option<String>,
        /// The beginnings of the lines right above and right below what it is about; without the second its choices follow.
        pub between: Option<Vec<String>>,
        /// The beginning of the first line of what it is about, where no lines stand around it.
        pub behind: Option<String>,
        /// The texts of the choice that allows a call.
        pub allow: Option<Vec<String>>,
        /// The texts of the choice that denies a call.
        pub deny: Option<Vec<String>>,
        /// The keys that take a choice, in tmux's names; {number} stands for its number.
        pub keys: Option<Vec<String>>,
    }
}

impl DialogProfile {
    /// The dialog's shape; `None` when the section does not describe it completely.
    pub fn shape(&self) -> Option<DialogShape<'_>> {
        let between = self.between.as_deref().unwrap_or_default();
        let subject = match (&self.behind, between) {
            (Some(mark), []) => SubjectPlace::Behind(mark),
            (None, [before]) => SubjectPlace::Between(before, ""),
            (None, [before, after]) => SubjectPlace::Between(before, after),
            _ => return None,
        };
        let question = self.question.as_deref().unwrap_or_default();
        Some(DialogShape { question, end: self.end.as_deref()?, subject })
    }

    /// The keys that select the choice with this number in the dialog. Returns `None` when no keys are known, and for a number of
    /// two digits, which would be typed as two keys.
    pub fn keys_of(&self, number: usize) -> Option<Vec<String>> {
        let keys = self.keys.as_deref().filter(|keys| !keys.is_empty() && (1..10).contains(&number))?;
        Some(keys.iter().map(|key| key.replace("{number}", &number.to_string())).collect())
    }
}

/// The built-in profiles. Each call parses them: only commands that start or read an agent need them.
pub fn built_in() -> BTreeMap<String, ProviderProfile> {
    let all = BUILT_IN.parse().ok().and_then(|all| BTreeMap::<String, ProviderProfile>::read(Value::Table(all)).ok());
    all.unwrap_or_default()
}

/// Everything in the built-in profiles with its value as TOML: `providers.NAME.KEY`.
pub(super) fn built_in_values() -> Vec<(String, Value)> {
    let all: toml::Table = toml::from_str(BUILT_IN).unwrap_or_default();
    let of_one = |(name, keys): (String, Value)| {
        let mut keys = keys.try_into::<toml::Table>().unwrap_or_default();
        let acp = keys.remove("acp").and_then(|own| own.try_into::<toml::Table>().ok()).unwrap_or_default();
        let all = keys.into_iter().chain(acp.into_iter().map(|(key, value)| (format!("acp.{key}"), value)));
        all.map(|(key, value)| (format!("providers.{name}.{key}"), value)).collect::<Vec<_>>()
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
        let parsed = built_in().into_iter().filter_map(|(name, profile)| Some((name, profile.facts.session_variable?)));
        let read = session_variables().map(|(name, variable)| (name.to_owned(), variable.to_owned()));
        assert_eq!(read.collect::<Vec<_>>(), parsed.collect::<Vec<_>>());
        assert!(session_variables().count() > 0);
    }

    #[test]
    fn built_in_profiles_are_read_and_overridden_key_by_key() {
        let all = built_in();
        assert_eq!(all.len(), 17);
        for profile in all.into_values() {
            let own = ProviderProfile { working_sign: Some(vec!["busy".into()]), ..ProviderProfile::default() };
            let merged = own.with_fallback(profile.clone());
            assert_eq!(merged.working_sign.as_deref(), Some(&["busy".to_owned()][..]));
            assert_eq!((merged.trust_question, merged.facts), (profile.trust_question, profile.facts));
        }
    }
}
