//! Identities and credentials of runtimes, kept in memory only. Values are zeroed when they are dropped and are never shown.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use fairway_core::domain::RunId;
use fairway_core::domain::secrets::MASK;
use fairway_core::env::Timestamp;
use fairway_core::wire::timestamp::deserialize_timestamp;

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
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
            Self::Token => "token",
        }
    }
}

/// Zeroed when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq)]
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

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Credentials {
    #[serde(rename = "type")]
    pub(crate) kind: CredentialType,
    value: Secret,
    #[serde(default, deserialize_with = "deserialize_timestamp")]
    pub(crate) expires_at: Option<Timestamp>,
}

/// A runtime's identity: names, credentials and environment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Identity {
    /// Must be the session's role.
    pub(crate) role: Option<String>,
    pub(crate) rig: Option<String>,
    pub(crate) agent_name: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) credentials: Option<Credentials>,
    /// In a later identity, `null` removes a variable.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(crate) env: BTreeMap<String, Option<Secret>>,
}

fn null_is_empty<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Option<Secret>>, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

#[derive(Serialize)]
pub(crate) struct IdentityPayload<'a> {
    run_id: &'a str,
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
    /// The identity after an update. Fields that `next` leaves out keep their values; a variable that is `null` in `next` is
    /// removed.
    pub(crate) fn merged(&self, next: Self) -> Self {
        let mut env = self.env.clone();
        env.extend(next.env);
        Self {
            role: next.role.or_else(|| self.role.clone()),
            rig: next.rig.or_else(|| self.rig.clone()),
            agent_name: next.agent_name.or_else(|| self.agent_name.clone()),
            session_id: next.session_id.or_else(|| self.session_id.clone()),
            credentials: next.credentials.or_else(|| self.credentials.clone()),
            env: env.into_iter().filter(|(_, value)| value.is_some()).collect(),
        }
    }

    /// The identity with its secret values. It may be sent only to the runtime itself.
    pub(crate) fn payload<'a>(&'a self, run_id: &'a str) -> IdentityPayload<'a> {
        IdentityPayload {
            run_id,
            role: self.role.as_deref(),
            rig: self.rig.as_deref(),
            agent_name: self.agent_name.as_deref(),
            session_id: self.session_id.as_deref(),
            credentials: self.credentials.as_ref().map(|one| CredentialsPayload {
                r#type: one.kind.as_str(),
                value: &one.value.0,
                expires_at: one.expires_at.map(|at| at.to_string()),
            }),
            env: self
                .env
                .iter()
                .filter_map(|(name, value)| Some((name.as_str(), value.as_ref()?.0.as_str())))
                .collect(),
        }
    }

    /// The identity with each secret value masked.
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
            "env": self.env.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name).map(|name| (name.clone(), MASK.into())).collect::<serde_json::Map<_, _>>(),
        })
    }
}

#[derive(Debug)]
pub(crate) struct IdentityStore {
    by_run: BTreeMap<RunId, StoredIdentity>,
    /// The number of changes. It also wakes streams.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct StoredIdentity {
    identity: Rc<Identity>,
    /// The value of `changes` when the identity was stored, unique per identity.
    version: u64,
    /// Waits until the credential is about to expire, then refreshes it.
    expiry_task: Option<JoinHandle<()>>,
    expiring: bool,
}

/// The identity of one session run at a point in time.
#[derive(Debug)]
pub(crate) struct IdentitySnapshot {
    pub(crate) identity: Rc<Identity>,
    pub(crate) version: u64,
    pub(crate) expiring: bool,
}

impl Default for IdentityStore {
    fn default() -> Self {
        Self { by_run: BTreeMap::new(), changes: watch::Sender::new(0) }
    }
}

impl IdentityStore {
    /// Stores a run's identity in place of an earlier one.
    pub(crate) fn insert(&mut self, run: &RunId, identity: Identity) {
        let version = *self.changes.borrow() + 1;
        let stored = StoredIdentity { identity: Rc::new(identity), version, expiry_task: None, expiring: false };
        self.by_run.insert(run.clone(), stored);
        self.changes.send_replace(version);
    }

    pub(crate) fn set_expiry_task(&mut self, run: &RunId, task: JoinHandle<()>) {
        match self.by_run.get_mut(run) {
            Some(stored) => stored.expiry_task = Some(task),
            None => task.abort(),
        }
    }

    /// Marks this version as about to expire. Returns false when a newer identity has replaced it, or the run has none any
    /// more.
    pub(crate) fn mark_expiring(&mut self, run: &RunId, version: u64) -> bool {
        let Some(stored) = self.by_run.get_mut(run).filter(|stored| stored.version == version) else { return false };
        stored.expiring = true;
        self.changes.send_modify(|count| *count += 1);
        true
    }

    pub(crate) fn get(&self, run: &RunId) -> Option<IdentitySnapshot> {
        let stored = self.by_run.get(run)?;
        Some(IdentitySnapshot {
            identity: Rc::clone(&stored.identity),
            version: stored.version,
            expiring: stored.expiring,
        })
    }

    pub(crate) fn remove_ended(&mut self, has_ended: impl Fn(&RunId) -> bool) {
        self.by_run.retain(|run, _| !has_ended(run));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_run.is_empty()
    }

    /// Returns a receiver that every change of an identity wakes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Drop for StoredIdentity {
    fn drop(&mut self) {
        if let Some(task) = &self.expiry_task {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_sent_to_the_runtime_and_shown_nowhere() {
        let text =
            r#"{"role":"r","credentials":{"type":"token","value":"canary","expires_at":1000},"env":{"K":"canary"}}"#;
        let identity: Identity = serde_json::from_str(text).unwrap();
        let shown = format!("{:?} {}", identity, identity.redacted("run"));
        assert!(!shown.contains("canary"), "{shown}");
        let payload = serde_json::to_string(&identity.payload("run")).unwrap();
        assert_eq!(payload.matches("canary").count(), 2, "{payload}");
        let same: Identity = serde_json::from_str(r#"{"env":null}"#).unwrap();
        assert_eq!(identity.merged(same), identity);
        let next =
            serde_json::from_str(r#"{"credentials":{"type":"token","value":"next"},"env":{"L":"new","K":null}}"#);
        let merged = identity.merged(next.unwrap());
        assert_eq!(
            serde_json::to_value(merged.payload("run")).unwrap(),
            json!({"run_id": "run", "role": "r", "rig": null, "agent_name": null, "session_id": null,
                "credentials": {"type": "token", "value": "next", "expires_at": null}, "env": {"L": "new"}})
        );
        assert!(serde_json::from_str::<Identity>(r#"{"credentials":{"type":"password","value":"x"}}"#).is_err());
    }
}
