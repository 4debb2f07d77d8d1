//! The settings of `fairway land`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use super::values;
use crate::domain::{
    Role,
    landing::{LandOrder, LandStyle},
};

/// The settings of `fairway land`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each key")]
pub struct LandSettings {
    /// How work comes into its base.
    #[serde(deserialize_with = "values::word")]
    pub style: LandStyle,
    /// The shell commands that the merged tree must pass.
    #[serde(deserialize_with = "commands")]
    pub checks: Vec<String>,
    /// The shell commands that prepare the merged tree for the checks.
    #[serde(deserialize_with = "commands")]
    pub prepare: Vec<String>,
    /// The time limit of each of these commands.
    #[serde(deserialize_with = "time_limit")]
    pub timeout: Duration,
    /// How often a command that failed runs again on the same tree.
    pub retries: u32,
    /// So many units of work share one check of the merged tree.
    #[serde(deserialize_with = "at_least_one")]
    pub batch: usize,
    /// So many trees are checked at once, each in a worktree of its own.
    #[serde(deserialize_with = "at_least_one")]
    pub width: usize,
    /// Whether the other half of what breaks only together is looked for.
    pub find_pair: bool,
    /// What comes first.
    #[serde(deserialize_with = "values::word")]
    pub order: LandOrder,
    /// Whether, with the store on a server, work lands in the upstream of its base.
    pub shared: bool,
    /// Whether ignored files are removed before a tree is checked.
    pub clean: bool,
    /// Whether the new commits are signed.
    pub sign: bool,
    /// The roles of sessions that may land.
    #[serde(deserialize_with = "values::roles")]
    pub roles: Vec<Role>,
}

impl Default for LandSettings {
    fn default() -> Self {
        Self {
            style: LandStyle::Merge,
            checks: Vec::new(),
            prepare: Vec::new(),
            timeout: Duration::from_secs(30 * 60),
            retries: 1,
            batch: 4,
            width: 1,
            find_pair: true,
            order: LandOrder::LeastConflict,
            shared: true,
            clean: false,
            sign: false,
            roles: Vec::new(),
        }
    }
}

fn commands<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    values::checked(deserializer, |commands: &Vec<String>| {
        let has_blank = commands.iter().any(|command| command.trim().is_empty());
        if has_blank { Err("has an empty command") } else { Ok(()) }
    })
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    values::checked(deserializer, |size: &usize| if *size == 0 { Err("must be greater than zero") } else { Ok(()) })
}

fn time_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let limit = values::span(deserializer)?;
    if limit.is_zero() { Err(D::Error::custom("must be greater than zero")) } else { Ok(limit) }
}

impl LandSettings {
    /// Whether a program of the configuration runs when work lands.
    pub const fn names_programs(&self) -> bool {
        !self.checks.is_empty() || !self.prepare.is_empty()
    }
}

/// The keys that need trust: they name programs, or give agents a permission.
const TRUSTED_KEYS: [&str; 3] = ["checks", "prepare", "roles"];

/// Whether the section needs trust.
pub(super) fn needs_trust(section: &toml::Value) -> bool {
    TRUSTED_KEYS.iter().any(|key| section.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        let usual = LandSettings::default();
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
