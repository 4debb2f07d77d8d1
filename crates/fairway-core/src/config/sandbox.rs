//! The settings of sandboxes.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use super::section::section;
use super::sections::BytesOrOff;
use super::values::{impl_word, reader};
use crate::domain::rules::proxy_hosts::OpenHost;
use crate::domain::sandbox::{SandboxClass, SandboxNetwork};
use crate::env::vars::is_variable_name;

impl_word!(SandboxClass, SandboxNetwork);

section! {
    /// The settings of sandboxes.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct SandboxSettings {
        /// The sandbox of a session whose launch and role name none: off, namespace (bubblewrap) or command (sandbox.prefix); each
        /// needs a lane with a worktree.
        pub class: SandboxClass = "off",
        /// The program of the class command, before the one that it runs; {lane} is the worktree, a word with {mount} or {env} is
        /// repeated.
        #[sample(["sbx", "run", "--"])]
        pub prefix: Vec<String> as Vec<PrefixWord>,
        /// The network inside a sandbox: none (a loopback of its own), proxy (sandbox.hosts and those of the agent's profile alone) or
        /// open (that of the machine); without it proxy where there are such hosts, else none.
        #[sample("proxy")]
        pub network: Option<SandboxNetwork>,
        /// Hosts that the proxy lets through, each with its port; an address of your network must be named itself.
        #[sample(["api.model.example:443", "*.packages.example:443"])]
        pub hosts: Vec<OpenHost>,
        /// Names of variables that reach the programs inside; their values come from your environment.
        #[sample(["API_KEY"])]
        pub env: Vec<String> as Vec<VariableName>,
        /// Closed paths that can be read inside; beside the toolchains in the home.
        #[sample(["~/.gradle"])]
        pub readable: Vec<String> as Vec<OpenPath>,
        /// Paths outside of the lane that can be written inside.
        #[sample(["~/.cache/sccache"])]
        pub writable: Vec<String> as Vec<OpenPath>,
        /// Names at the top of the lane that can be written inside although your programs run or read them later.
        #[sample([".gitignore"])]
        pub lane_writable: Vec<String> as Vec<LaneEntry>,
        /// Maximum size of the new objects of a sandbox's commits that are taken back; "off" for no limit.
        pub take_back_limit: Option<u64> as BytesOrOff = "4GiB",
    }
}

impl SandboxSettings {
    /// The network of a sandbox of this class: the configured one, else a proxy to the hosts that are open. The program of the class
    /// `command` gives its own.
    pub fn network_of(&self, class: SandboxClass) -> SandboxNetwork {
        match self.network {
            Some(network) => network,
            None if class == SandboxClass::Command || self.hosts.is_empty() => SandboxNetwork::None,
            None => SandboxNetwork::Proxy,
        }
    }
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
    pub state: BTreeMap<String, ProviderState>,
}

impl SandboxDefaults {
    /// Whether the user's own programs may later run or read a file at this path in a lane: as settings of an editor, an agent, a
    /// shell or git, or as a hook. Only the names in the path are compared. A program that the user starts on purpose does not
    /// count.
    pub fn runs_later(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let is_part = |part: &str, name: &str| match name.split_once('*') {
            Some((begin, end)) => part.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end)),
            None => part == name,
        };
        let is_there = |name: &String| {
            let name: Vec<&str> = name.split('/').collect();
            parts.windows(name.len()).any(|found| found.iter().zip(&name).all(|(part, name)| is_part(part, name)))
        };
        self.lane_directories.iter().chain(&self.lane_files).chain(&self.later_names).any(is_there)
    }
}

/// Where an agent keeps its state, relative to the home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderState {
    /// Directories of which each lane has its own.
    pub directories: Vec<String>,
    /// Files of which each lane has its own copy, made anew at each start.
    pub files: Vec<String>,
    /// Paths of the directories that are copied from the home once.
    pub copied: Vec<String>,
    /// Settings of the person, which can be read inside.
    pub read_only: Vec<String>,
    /// The files of the login, which are those of the home.
    pub login: Vec<String>,
}

pub fn sandbox_defaults() -> SandboxDefaults {
    toml::from_str(include_str!("sandbox.toml")).unwrap_or_default()
}

reader! {
    PrefixWord(String) -> String;
    |word: &String| {
        let is_wrong = word.is_empty() || word.contains('\0');
        if is_wrong { Err(format!("'{}' is no word of a command", word.escape_debug())) } else { Ok(word.clone()) }
    }
}
reader! {
    pub(super) VariableName(String) -> String;
    |name: &String| {
        let wrong = || format!("'{}' is not a valid variable name", name.escape_debug());
        if is_variable_name(name) { Ok(name.clone()) } else { Err(wrong()) }
    }
}
reader! {
    /// An absolute path, or one from the home by `~/`.
    OpenPath(String) -> String;
    |text: &String| {
        let path = Path::new(text.strip_prefix("~/").unwrap_or_else(|| text.strip_prefix('/').unwrap_or("..")));
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain && path.components().next().is_some() && !text.chars().any(char::is_control) {
            return Ok(text.clone());
        }
        Err(format!("'{}' is neither an absolute path nor one that begins with ~/", text.escape_debug()))
    }
}
reader! {
    /// A name at the top of a lane.
    LaneEntry(String) -> String;
    |text: &String| {
        let mut parts = Path::new(text).components();
        let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if is_one && text != ".git" && !text.chars().any(char::is_control) {
            return Ok(text.clone());
        }
        Err(format!("'{}' is not a name at the top of a lane that may be opened", text.escape_debug()))
    }
}

#[cfg(test)]
mod tests {
    use super::sandbox_defaults;
    use crate::config::{Settings, built_in_profiles};

    #[test]
    fn each_provider_that_was_tried_has_a_state() {
        let defaults = sandbox_defaults();
        for (provider, profile) in &built_in_profiles() {
            let is_tried = profile.facts.proven_with.is_some()
                || profile.acp.as_ref().is_some_and(|acp| acp.facts.proven_with.is_some());
            assert!(!is_tried || defaults.state.contains_key(provider), "{provider}");
        }
        assert!(defaults.state.len() > 4);
        assert!(defaults.toolchains.len() > 20 && defaults.lane_directories.len() > 5);
    }

    #[test]
    fn settings_and_hooks_run_later_and_sources_do_not() {
        let defaults = sandbox_defaults();
        for later in [
            ".vscode/tasks.json", "web/.envrc", ".gitattributes", ".husky/pre-commit", "a/.zed/settings.json",
            "crates/a/.cargo/config.toml", "shop.code-workspace", "web/eslint.config.mjs", ".github/workflows/ci.yml",
        ] {
            assert!(defaults.runs_later(later), "{later}");
        }
        for other in
            ["src/main.rs", ".gitignore", ".github/CODEOWNERS", "cargo/config.toml", "eslint.config", "Makefile", ""]
        {
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
            "readable = ['x']", "readable = ['/']", "writable = ['~/']", "writable = ['/a/../b']", "writable = ['~']",
            "lane_writable = ['.git']", "lane_writable = ['a/b']", "lane_writable = ['..']", "env = ['1A']",
            "env = ['A=b']", "network = 'some'", "class = 'docker'", "prefix = ['']", "hosts = ['a.example']",
            "hosts = ['*.com:443']", "hosts = ['127.1:443']",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
