//! The configuration of the boundary to agent runtimes: hooks, context and identity.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::values;
use crate::domain::Role;

/// The settings of hooks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HookSettings {
    /// The role of a session that a hook registers.
    #[serde(deserialize_with = "role")]
    pub role: Role,
    /// How long a hook waits for the answer to a permission request.
    #[serde(deserialize_with = "values::span")]
    pub approval_wait: Duration,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self { role: Role::person(), approval_wait: Duration::from_secs(50) }
    }
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    values::parsed(deserializer, Role::parse)
}

/// The settings of an agent's context.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct ContextSettings {
    /// How full a context is when its session is told to hand over, 0 to 1.
    #[serde(deserialize_with = "pressure")]
    pub pressure: f64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { pressure: 0.8 }
    }
}

fn pressure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    values::checked(deserializer, |share| {
        let is_share = *share > 0.0 && *share <= 1.0;
        if is_share { Ok(()) } else { Err(format!("must be above 0 and at most 1, not {share}")) }
    })
}

/// The settings of a runtime's identity.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IdentitySettings {
    /// Shell text that prints a fresh identity, before the old one's credential expires.
    #[serde(deserialize_with = "values::non_blank")]
    pub refresh: Option<String>,
    /// How long before that moment.
    #[serde(deserialize_with = "values::span")]
    pub refresh_before: Duration,
}

impl Default for IdentitySettings {
    fn default() -> Self {
        Self { refresh: None, refresh_before: Duration::from_secs(5 * 60) }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn agent_settings_have_defaults_and_a_wrong_pressure_is_named() {
        let usual = Settings::parse("").unwrap();
        assert_eq!((usual.hooks.role.as_str(), usual.hooks.approval_wait.as_secs()), ("person", 50));
        for pressure in ["0.0", "1.1", "nan"] {
            let (key, _) = Settings::parse(&format!("context.pressure = {pressure}")).unwrap_err();
            assert_eq!(key, "context.pressure");
        }
    }
}
