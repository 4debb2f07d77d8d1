//! The settings of `fairway land`.

use std::time::Duration;

use super::{
    section::section,
    values::{AtLeastOne, reader},
};
use crate::domain::{
    Role,
    landing::{LandOrder, LandStyle},
};

section! {
    /// The settings of `fairway land`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LandSettings {
        /// How `land` brings work into its base: merge, squash or rebase.
        pub style: LandStyle = "merge",
        /// Shell commands that the merged tree must pass before the base moves.
        #[sample(["make test"])]
        pub checks: Vec<String> as Vec<LandCommand>,
        /// Shell commands in the merged tree before the checks.
        #[sample(["make deps"])]
        pub prepare: Vec<String> as Vec<LandCommand>,
        /// Time limit of each check and each prepare command.
        pub timeout: Duration as TimeLimit = "30m",
        /// How often a failed command runs again on the same tree before work is sent back.
        pub retries: u32 = 1,
        /// How many tasks or lanes share one check of the merged tree; 1: each commit has its own.
        pub batch: usize as AtLeastOne = 4,
        /// How many merged trees are checked at once, each in a worktree of its own.
        pub width: usize as AtLeastOne = 1,
        /// Look for the landed work with which work that was sent back breaks.
        pub find_pair: bool = true,
        /// What lands first: least-conflict or priority; the other breaks ties.
        pub order: LandOrder = "least-conflict",
        /// With the store on a server, fetch the base and push what lands; false where there is one clone only.
        pub shared: bool = true,
        /// Remove ignored files too before a merged tree is checked.
        pub clean: bool = false,
        /// Sign the new commits with the key of git's configuration.
        pub sign: bool = false,
        /// The roles of sessions that may land; without it, only people do.
        #[sample(["integrator"])]
        pub roles: Vec<Role>,
    }
}

reader! {
    LandCommand(String) -> String;
    |command: &String| if command.trim().is_empty() { Err("has an empty command") } else { Ok(command.clone()) }
}
reader! {
    TimeLimit(Duration) -> Duration;
    |limit: &Duration| if limit.is_zero() { Err("must be greater than zero") } else { Ok(*limit) }
}

impl LandSettings {
    /// Whether these settings name a program that a landing runs: a check, or a command that prepares for the checks.
    pub const fn names_programs(&self) -> bool {
        !self.checks.is_empty() || !self.prepare.is_empty()
    }
}

/// The keys that need trust: they name programs, or give agents a permission.
const TRUSTED_KEYS: [&str; 3] = ["checks", "prepare", "roles"];

pub(super) fn needs_trust(section: &toml::Value) -> bool {
    TRUSTED_KEYS.iter().any(|key| section.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        let usual = Settings::default().land;
        assert_eq!((usual.style, usual.timeout.as_secs(), usual.names_programs()), (LandStyle::Merge, 1800, false));
        assert_eq!((usual.retries, Settings::parse("land.retries = 0").unwrap().land.retries), (1, 0));
        assert_eq!((usual.batch, Settings::parse("land.batch = 1").unwrap().land.batch), (4, 1));
        assert_eq!((usual.width, Settings::parse("land.width = 3").unwrap().land.width), (1, 3));
        for (text, key) in [
            ("land.order = 'age'", "land.order"),
            ("land.clean = 1", "land.clean"),
            ("land.find_pair = 'no'", "land.find_pair"),
            ("land.shared = 'no'", "land.shared"),
            ("land.batch = 0", "land.batch"),
            ("land.batch = -1", "land.batch"),
            ("land.width = 0", "land.width"),
            ("land.style = 'octopus'", "land.style"),
            ("land.checks = ['  ']", "land.checks"),
            ("land.timeout = '0s'", "land.timeout"),
            ("land.retries = -1", "land.retries"),
            ("land.roles = ['a b']", "land.roles"),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().0, key);
        }
    }
}
