//! The settings of lanes: how a new worktree becomes a place in which one can work.

use std::time::Duration;

use super::{
    landing::{LandCommand, TimeLimit, is_repository_path},
    section::section,
    values::reader,
};

section! {
    /// The settings of lanes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LaneSettings {
        /// Ignored files of the main checkout that a new worktree gets copies of, as in .gitignore; .worktreeinclude names more.
        #[sample([".env*"])]
        pub include: Vec<String> as Vec<IncludePattern>,
        /// Shell commands that make a new worktree ready; no agent starts in it before they have succeeded.
        #[sample(["npm ci"])]
        pub setup: Vec<String> as Vec<LandCommand>,
        /// Shell commands before a worktree that was set up is removed; a failure is told.
        #[sample(["docker compose down"])]
        pub teardown: Vec<String> as Vec<LandCommand>,
        /// Time limit of each setup and each teardown command.
        pub setup_timeout: Duration as TimeLimit = "15m",
        /// Run setup and teardown outside of the sandbox that the lane demands, for its network.
        pub setup_outside: bool = false,
        /// Files of the lane: the lane is not set up any more when one of them has changed since.
        #[sample(["package-lock.json"])]
        pub setup_when_changed: Vec<String> as Vec<LanePath>,
    }
}

reader! {
    IncludePattern(String) -> String;
    |pattern: &String| match pattern.trim() {
        "" => Err("has an empty pattern"),
        text if text.contains(['\n', '\0']) => Err("must be patterns of one line each"),
        _ => Ok(pattern.clone()),
    }
}
reader! {
    LanePath(String) -> String;
    |path: &String| {
        let wrong = || format!("'{}' is no path from the top of the repository", path.escape_debug());
        if is_repository_path(path) { Ok(path.clone()) } else { Err(wrong()) }
    }
}

/// The keys that need trust: they name programs, or let them out of the sandbox.
const TRUSTED_KEYS: [&str; 3] = ["setup", "teardown", "setup_outside"];

pub(super) fn needs_trust(section: &toml::Value) -> bool {
    TRUSTED_KEYS.iter().any(|key| section.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        let usual = Settings::default().lanes;
        assert_eq!((usual.setup.len(), usual.setup_timeout.as_secs(), usual.setup_outside), (0, 900, false));
        for (text, key) in [
            ("lanes.include = ['']", "lanes.include"),
            ("lanes.include = [\"a\\nb\"]", "lanes.include"),
            ("lanes.setup = ' '", "lanes.setup"),
            ("lanes.setup = [' ']", "lanes.setup"),
            ("lanes.teardown = ['']", "lanes.teardown"),
            ("lanes.setup_timeout = '0s'", "lanes.setup_timeout"),
            ("lanes.setup_when_changed = ['../a']", "lanes.setup_when_changed"),
            ("lanes.setup_when_changed = ['/a']", "lanes.setup_when_changed"),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().0, key, "{text}");
        }
    }
}
