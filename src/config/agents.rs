//! The configuration of the boundary to agent runtimes: hooks, context and identity.

use std::time::Duration;

use serde::Deserialize;

use super::duration;
use crate::domain::Role;

/// The settings of the boundary to agent runtimes.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// The role of a session that a hook registers.
    pub hook_role: Role,
    /// How long a hook waits for the answer to a permission request.
    pub approval_wait: Duration,
    /// How full a context is when its session is told to hand over, 0 to 1.
    pub context_threshold: f64,
    /// Shell text that prints a fresh identity, before the old one's credential expires.
    pub refresh: Option<String>,
    /// How long before that moment.
    pub refresh_before: Duration,
}

/// The section `hooks` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RawHooks {
    role: Option<String>,
    approval_wait: Option<String>,
}

/// The section `context` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RawContext {
    pressure: Option<f64>,
}

/// The section `identity` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RawIdentity {
    refresh: Option<String>,
    refresh_before: Option<String>,
}

/// The settings; what is not set has its default.
///
/// # Errors
/// The key, and why its value is invalid.
pub(super) fn read(
    hooks: RawHooks,
    context: RawContext,
    identity: RawIdentity,
) -> Result<AgentSettings, (&'static str, String)> {
    let span = |key, text: Option<String>, usual: &str| {
        duration::parse(text.as_deref().unwrap_or(usual)).map_err(|why| (key, why))
    };
    let role = hooks.role.as_deref().unwrap_or("person");
    let pressure = context.pressure.unwrap_or(0.8);
    if !(pressure > 0.0 && pressure <= 1.0) {
        return Err(("context.pressure", format!("must be above 0 and at most 1, not {pressure}")));
    }
    Ok(AgentSettings {
        hook_role: Role::parse(role).map_err(|why| ("hooks.role", why.to_string()))?,
        approval_wait: span("hooks.approval_wait", hooks.approval_wait, "50s")?,
        context_threshold: pressure,
        refresh: identity.refresh.filter(|text| !text.trim().is_empty()),
        refresh_before: span("identity.refresh_before", identity.refresh_before, "5m")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_has_its_default_and_what_cannot_be_meant_is_named() {
        let usual = read(RawHooks::default(), RawContext::default(), RawIdentity::default()).unwrap();
        assert_eq!((usual.hook_role.as_str(), usual.approval_wait.as_secs()), ("person", 50));
        for pressure in [0.0, 1.1, f64::NAN] {
            let raw = RawContext { pressure: Some(pressure) };
            let (key, _) = read(RawHooks::default(), raw, RawIdentity::default()).unwrap_err();
            assert_eq!(key, "context.pressure");
        }
    }
}
