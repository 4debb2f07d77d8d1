//! A runtime's identity and credentials. Only the runtime itself gets the values.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::{domain::secrets::MASK, env::Timestamp, wire::timestamp::deserialize_timestamp};

/// The kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum CredentialType {
    #[serde(rename = "api_key")]
    ApiKey,
    #[serde(rename = "oauth")]
    OAuth,
    #[serde(rename = "token")]
    Token,
}

impl CredentialType {
    /// The value in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
            Self::Token => "token",
        }
    }
}

/// A text that is zeroed when it is dropped, and never printed.
#[derive(Clone)]
pub(crate) struct Secret(Zeroizing<String>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self(Zeroizing::new(text)))
    }
}

/// A credential.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Credentials {
    /// Its kind.
    #[serde(rename = "type")]
    pub(crate) kind: CredentialType,
    value: Secret,
    /// When it expires.
    #[serde(default, deserialize_with = "deserialize_timestamp")]
    pub(crate) expires_at: Option<Timestamp>,
}

/// A runtime's identity: names, credentials and environment.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Identity {
    /// The role; must be the session's.
    pub(crate) role: Option<String>,
    pub(crate) rig: Option<String>,
    pub(crate) agent_name: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) credentials: Option<Credentials>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, Secret>,
}

/// The identity as the runtime gets it, with all values.
#[derive(Serialize)]
pub(crate) struct IdentityPayload<'a> {
    role: Option<&'a str>,
    rig: Option<&'a str>,
    agent_name: Option<&'a str>,
    session_id: Option<&'a str>,
    credentials: Option<CredentialsPayload<'a>>,
    env: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct CredentialsPayload<'a> {
    r#type: &'static str,
    value: &'a str,
    expires_at: Option<String>,
}

impl Identity {
    /// With all values, for the runtime alone.
    pub(crate) fn payload(&self) -> IdentityPayload<'_> {
        IdentityPayload {
            role: self.role.as_deref(),
            rig: self.rig.as_deref(),
            agent_name: self.agent_name.as_deref(),
            session_id: self.session_id.as_deref(),
            credentials: self.credentials.as_ref().map(|one| CredentialsPayload {
                r#type: one.kind.as_str(),
                value: &one.value.0,
                expires_at: one.expires_at.map(|at| at.to_string()),
            }),
            env: self.env.iter().map(|(name, value)| (name.as_str(), value.0.as_str())).collect(),
        }
    }

    /// With every value masked.
    pub(crate) fn redacted(&self, run: &str) -> Value {
        json!({
            "run_id": run,
            "session_id": self.session_id,
            "role": self.role,
            "rig": self.rig,
            "agent_name": self.agent_name,
            "credentials": self.credentials.as_ref().map(|one| json!({
                "type": one.kind.as_str(), "value": MASK, "expires_at": one.expires_at.map(|at| at.to_string()),
            })),
            "env": self.env.keys().map(|name| (name.clone(), MASK.into())).collect::<serde_json::Map<_, _>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_to_the_runtime_and_shown_nowhere() {
        let text =
            r#"{"role":"r","credentials":{"type":"token","value":"canary","expires_at":1000},"env":{"K":"canary"}}"#;
        let identity: Identity = serde_json::from_str(text).unwrap();
        let shown = format!("{:?} {}", identity, identity.redacted("run"));
        assert!(!shown.contains("canary"), "{shown}");
        let payload = serde_json::to_string(&identity.payload()).unwrap();
        assert_eq!(payload.matches("canary").count(), 2, "{payload}");
        assert!(serde_json::from_str::<Identity>(r#"{"credentials":{"type":"password","value":"x"}}"#).is_err());
    }
}
