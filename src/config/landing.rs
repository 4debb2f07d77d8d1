//! The settings of `fairway land`.

use std::time::Duration;

use serde::Deserialize;

use super::{duration, values::unknown_value};
use crate::domain::{Role, landing::LandStyle};

/// The settings of `fairway land`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandSettings {
    /// How work comes into its base.
    pub style: LandStyle,
    /// The shell commands that the merged tree must pass.
    pub checks: Vec<String>,
    /// The shell commands that prepare the merged tree for the checks.
    pub prepare: Vec<String>,
    /// The time limit of each of these commands.
    pub timeout: Duration,
    /// Whether the new commits are signed.
    pub sign: bool,
    /// The roles of sessions that may land.
    pub roles: Vec<Role>,
}

impl LandSettings {
    /// Whether a program of the configuration runs when work lands.
    #[must_use]
    pub const fn names_programs(&self) -> bool {
        !self.checks.is_empty() || !self.prepare.is_empty()
    }
}

/// The section `land` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    style: Option<String>,
    checks: Vec<String>,
    prepare: Vec<String>,
    timeout: Option<String>,
    sign: bool,
    roles: Vec<String>,
}

/// The keys that need trust: they name programs, or give agents a permission.
const TRUSTED_KEYS: [&str; 3] = ["checks", "prepare", "roles"];

/// Whether the section needs trust.
pub(super) fn needs_trust(section: &toml::Value) -> bool {
    TRUSTED_KEYS.iter().any(|key| section.get(key).is_some())
}

impl Raw {
    /// The settings; what is not set has its default.
    ///
    /// # Errors
    /// The key, and why its value is invalid.
    pub(super) fn into_settings(self) -> Result<LandSettings, (&'static str, String)> {
        let style = match self.style.as_deref() {
            None => LandStyle::Merge,
            Some(word) => LandStyle::parse(word).ok_or_else(|| {
                ("style", unknown_value(word, &LandStyle::ALL.iter().map(|style| style.as_str()).collect::<Vec<_>>()))
            })?,
        };
        for (key, commands) in [("checks", &self.checks), ("prepare", &self.prepare)] {
            if commands.iter().any(|command| command.trim().is_empty()) {
                return Err((key, "has an empty command".to_owned()));
            }
        }
        let timeout = duration::parse(self.timeout.as_deref().unwrap_or("30m")).map_err(|why| ("timeout", why))?;
        if timeout.is_zero() {
            return Err(("timeout", "must be greater than zero".to_owned()));
        }
        let roles = self.roles.iter().map(|name| Role::parse(name).map_err(|why| ("roles", why.to_string())));
        Ok(LandSettings {
            style,
            timeout,
            roles: roles.collect::<Result<_, _>>()?,
            checks: self.checks,
            prepare: self.prepare,
            sign: self.sign,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        let usual = Raw::default().into_settings().unwrap();
        assert_eq!((usual.style, usual.timeout.as_secs(), usual.names_programs()), (LandStyle::Merge, 1800, false));
        let wrong = [
            (Raw { style: Some("octopus".into()), ..Raw::default() }, "style"),
            (Raw { checks: vec!["  ".into()], ..Raw::default() }, "checks"),
            (Raw { timeout: Some("0s".into()), ..Raw::default() }, "timeout"),
            (Raw { roles: vec!["a b".into()], ..Raw::default() }, "roles"),
        ];
        for (raw, key) in wrong {
            assert_eq!(raw.into_settings().unwrap_err().0, key);
        }
    }
}
