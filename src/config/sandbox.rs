//! The settings of sandboxes.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

use serde::{Deserialize, Deserializer};

use super::values::{self, impl_word};
use crate::domain::{
    rules::open_hosts::OpenHost,
    sandbox::{SandboxClass, SandboxNetwork},
};

impl_word!(SandboxClass, SandboxNetwork);

/// The settings of sandboxes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SandboxSettings {
    /// The sandbox of a launch that names none.
    #[serde(deserialize_with = "values::word")]
    pub class: SandboxClass,
    /// The program with its arguments that makes a sandbox of the class `command`.
    #[serde(deserialize_with = "words")]
    pub prefix: Vec<String>,
    /// The network of the programs inside.
    #[serde(deserialize_with = "values::word")]
    pub network: SandboxNetwork,
    /// The hosts that the proxy lets through.
    #[serde(deserialize_with = "hosts")]
    pub hosts: Vec<OpenHost>,
    /// The names of variables that reach the programs beside the usual ones.
    #[serde(deserialize_with = "variables")]
    pub env: Vec<String>,
    /// Paths that can be read although their directory is closed: absolute, or from the home by `~/`.
    #[serde(deserialize_with = "paths")]
    pub readable: Vec<String>,
    /// Paths that can be written, likewise.
    #[serde(deserialize_with = "paths")]
    pub writable: Vec<String>,
    /// Names in the lane that can be written although programs of the person run them later.
    #[serde(deserialize_with = "lane_names")]
    pub lane_writable: Vec<String>,
}

/// What a sandbox opens in the home, and what it closes in a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SandboxDefaults {
    /// Programs and their libraries, relative to the home.
    pub toolchains: Vec<String>,
    /// Names at the top of a lane whose files programs of the person run later: directories.
    pub lane_directories: Vec<String>,
    /// Files likewise.
    pub lane_files: Vec<String>,
    /// Names anywhere in a lane that are not closed, and that programs of the person run or read later as well.
    pub later_names: Vec<String>,
    /// By provider.
    pub state: BTreeMap<String, ProviderState>,
}

impl SandboxDefaults {
    /// Whether programs of the person run or read a file of a lane at this path later: as settings of an editor, an agent, a shell or
    /// git, or as a hook. One that a person starts on purpose is none.
    pub fn runs_later(&self, path: &str) -> bool {
        let is_named = |part: &str| {
            let names = self.lane_directories.iter().chain(&self.lane_files).chain(&self.later_names);
            names.into_iter().any(|name| name == part)
        };
        path.split('/').any(is_named)
    }
}

/// Where an agent keeps its state, relative to the home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderState {
    pub writable: Vec<String>,
    /// Settings in there that name programs for other sessions.
    pub read_only: Vec<String>,
}

/// The built-in defaults.
pub fn sandbox_defaults() -> SandboxDefaults {
    toml::from_str(include_str!("sandbox.toml")).unwrap_or_default()
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    values::parsed_list(deserializer, |word| {
        if word.is_empty() || word.contains('\0') {
            return Err(format!("'{}' is no word of a command", word.escape_debug()));
        }
        Ok(word.to_owned())
    })
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OpenHost>, D::Error> {
    values::parsed_list(deserializer, OpenHost::parse)
}

fn variables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    values::parsed_list(deserializer, |name| {
        let is_first = |character: char| character.is_ascii_alphabetic() || character == '_';
        let is_rest = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.starts_with(is_first) && name.chars().all(is_rest) {
            return Ok(name.to_owned());
        }
        Err(format!("'{}' is not a valid variable name", name.escape_debug()))
    })
}

fn paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    values::parsed_list(deserializer, |text| {
        let path = Path::new(text.strip_prefix("~/").unwrap_or_else(|| text.strip_prefix('/').unwrap_or("..")));
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain && path.components().next().is_some() && !text.chars().any(char::is_control) {
            return Ok(text.to_owned());
        }
        Err(format!("'{}' is neither an absolute path nor one that begins with ~/", text.escape_debug()))
    })
}

fn lane_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    values::parsed_list(deserializer, |text| {
        let mut parts = Path::new(text).components();
        let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if is_one && text != ".git" && !text.chars().any(char::is_control) {
            return Ok(text.to_owned());
        }
        Err(format!("'{}' is not a name at the top of a lane that may be opened", text.escape_debug()))
    })
}

#[cfg(test)]
mod tests {
    use super::sandbox_defaults;
    use crate::config::{Settings, built_in_profiles};

    #[test]
    fn each_provider_that_was_tried_has_a_state() {
        let defaults = sandbox_defaults();
        for (provider, profile) in &built_in_profiles() {
            let is_tried =
                profile.proven_with.is_some() || profile.acp.as_ref().is_some_and(|acp| acp.proven_with.is_some());
            assert!(!is_tried || defaults.state.contains_key(provider), "{provider}");
        }
        assert!(defaults.state.len() > 4);
        assert!(defaults.toolchains.len() > 20 && defaults.lane_directories.len() > 5);
    }

    #[test]
    fn settings_and_hooks_run_later_and_sources_do_not() {
        let defaults = sandbox_defaults();
        for later in [".vscode/tasks.json", "web/.envrc", ".gitattributes", ".husky/pre-commit", "a/.zed/settings.json"]
        {
            assert!(defaults.runs_later(later), "{later}");
        }
        for other in ["src/main.rs", ".gitignore", ".github/workflows/ci.yml", "vscode/x", "Makefile", ""] {
            assert!(!defaults.runs_later(other), "{other}");
        }
    }

    #[test]
    fn holes_are_plain_paths_and_names() {
        let read = |text: &str| Settings::parse(&format!("[sandbox]\n{text}")).map(|settings| settings.sandbox.clone());
        let good = read("readable = ['/opt/x', '~/.gradle']\nlane_writable = ['.gitignore']\nenv = ['A_1']\nhosts = ['*.a.example:443']").unwrap();
        assert_eq!(good.readable, ["/opt/x", "~/.gradle"]);
        assert_eq!(good.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["*.a.example:443"]);
        for bad in [
            "readable = ['x']",
            "readable = ['/']",
            "writable = ['~/']",
            "writable = ['/a/../b']",
            "writable = ['~']",
            "lane_writable = ['.git']",
            "lane_writable = ['a/b']",
            "lane_writable = ['..']",
            "env = ['1A']",
            "env = ['A=b']",
            "network = 'some'",
            "class = 'docker'",
            "prefix = ['']",
            "hosts = ['a.example']",
            "hosts = ['*.com:443']",
            "hosts = ['127.1:443']",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
