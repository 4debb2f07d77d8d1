//! The settings in force, each of its own type.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Deserialize;

use super::{
    AgentSettings, Backend, ConfigError, JobSettings, LandSettings, LaunchSettings, Layers, NotifySettings,
    OverlapSettings, Project, StoreSettings, agents, backend, duration, guard, jobs, landing, launch, notify, overlap,
    store,
    values::{StaleAfter, unknown_value},
};
use crate::{
    domain::{
        Role,
        id::Label,
        rules::{claim::PathPolicy, gate::Gate, globs},
    },
    guard::Rules,
};

/// Paths whose tasks need an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRoute {
    /// The globs.
    pub paths: Vec<String>,
    /// The domain.
    pub domain: Label,
}

/// All settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The project's name; the root directory's by default.
    pub name: String,
    /// The branch from which lanes start.
    pub base_branch: String,
    /// Where the store is.
    pub store: StoreSettings,
    /// The prefix of generated ids.
    pub prefix: String,
    /// The lease of claims; `None` for claims without a lease.
    pub lease: Option<Duration>,
    /// The policy for overlapping paths.
    pub path_policy: PathPolicy,
    /// Whether `claim` without an id claims tasks of the own lane only, and none without a lane.
    pub own_lane_only: bool,
    /// Overlap between lanes.
    pub overlap: OverlapSettings,
    /// The backend of a launch that names none.
    pub default_backend: String,
    /// Silence after which a session is stale.
    pub stale_after: StaleAfter,
    /// The roles of sessions that may start sessions.
    pub may_start: Vec<Role>,
    /// The roles of sessions that may answer permission requests of others.
    pub approval_roles: Vec<Role>,
    /// How long a start may take.
    pub launch_timeout: Duration,
    /// Background runs.
    pub jobs: JobSettings,
    /// Hooks, context and identity.
    pub agents: AgentSettings,
    /// The guard rules; `None`: there is no guard.
    pub guard: Option<Arc<Rules>>,
    /// Landing.
    pub land: LandSettings,
    /// The gates of `done`.
    pub done_gates: Vec<Gate>,
    /// The gates of `merge-ready`.
    pub merge_gates: Vec<Gate>,
    /// By role.
    pub roles: BTreeMap<String, LaunchSettings>,
    /// By provider.
    pub providers: BTreeMap<String, LaunchSettings>,
    /// By name.
    pub backends: BTreeMap<String, Backend>,
    /// In the order of the file.
    pub review_routes: Vec<ReviewRoute>,
    /// Notifications.
    pub notify: NotifySettings,
}

/// The file as it is written. Defaults that a person can change stand in `keys`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Raw {
    project: RawProject,
    store: store::Raw,
    tasks: RawTasks,
    claims: RawClaims,
    overlap: overlap::Raw,
    sessions: RawSessions,
    exec: jobs::Raw,
    hooks: agents::RawHooks,
    approvals: RawApprovals,
    context: agents::RawContext,
    identity: agents::RawIdentity,
    guard: Option<guard::Raw>,
    gates: RawGates,
    land: landing::Raw,
    roles: BTreeMap<String, launch::Raw>,
    providers: BTreeMap<String, launch::Raw>,
    backends: BTreeMap<String, backend::Raw>,
    review_routes: Vec<RawRoute>,
    notify: notify::Raw,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawProject {
    name: Option<String>,
    base_branch: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawTasks {
    prefix: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawClaims {
    lease: Option<String>,
    path_conflicts: Option<String>,
    own_lane_only: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawSessions {
    default_backend: Option<String>,
    stale_after: Option<String>,
    launch_timeout: Option<String>,
    may_start: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawApprovals {
    roles: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawGates {
    done: RawGate,
    merge: RawGate,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawGate {
    require: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct RawRoute {
    #[serde(default)]
    paths: Vec<String>,
    domain: Option<String>,
}

impl Settings {
    /// The settings that the layers of a project make.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for an invalid value.
    pub fn from_layers(layers: &Layers, project: &Project) -> Result<Self, ConfigError> {
        let place = "the configuration";
        let raw: Raw = layers.merged().try_into().map_err(|error: toml::de::Error| ConfigError::Value {
            place: place.into(),
            key: "a value".into(),
            why: error.to_string().trim_end().replace('\n', " "),
        })?;
        let value =
            |key: &str, why: String| ConfigError::Value { place: layers.location_of(key), key: key.into(), why };
        let dir = project.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let span = |key: &str, text: &str| duration::parse(text).map_err(|why| value(key, why));
        let gates = |key: &str, words: Option<Vec<String>>, default: &[Gate]| match words {
            None => Ok(default.to_vec()),
            Some(words) => words
                .iter()
                .map(|word| Gate::parse(word).ok_or_else(|| value(key, unknown_value(word, &gate_names(Gate::ALL)))))
                .collect(),
        };
        let lease = match raw.claims.lease.as_deref() {
            None | Some("none") => None,
            Some(text) => Some(span("claims.lease", text)?),
        };
        let path_policy = match raw.claims.path_conflicts.as_deref() {
            None | Some("refuse") => PathPolicy::Refuse,
            Some("warn") => PathPolicy::Warn,
            Some("off") => PathPolicy::Off,
            Some(word) => return Err(value("claims.path_conflicts", unknown_value(word, &["refuse", "warn", "off"]))),
        };
        let silence = |key: &str, text: &str| match text {
            "off" => Ok(StaleAfter::Never),
            text => span(key, text).map(StaleAfter::After),
        };
        let roles = |key: &str, names: &[String]| {
            let parsed = names.iter().map(|name| Role::parse(name).map_err(|why| value(key, why.to_string())));
            parsed.collect::<Result<Vec<Role>, ConfigError>>()
        };
        let prefix = raw.tasks.prefix.unwrap_or_else(|| "T".into());
        if crate::domain::TaskId::parse(&prefix).is_err() || prefix.len() > 32 {
            return Err(value("tasks.prefix", format!("'{}' cannot begin a task id", prefix.escape_debug())));
        }
        let default_backend = raw.sessions.default_backend.unwrap_or_else(|| "shell".into());
        Ok(Self {
            name: raw.project.name.unwrap_or(dir),
            base_branch: raw.project.base_branch.unwrap_or_else(|| "main".into()),
            store: raw.store.into_settings().map_err(|(key, why)| value(key, why))?,
            prefix,
            lease,
            path_policy,
            own_lane_only: raw.claims.own_lane_only,
            overlap: raw.overlap.into_settings().map_err(|(key, why)| value(key, why))?,
            default_backend,
            stale_after: silence("sessions.stale_after", raw.sessions.stale_after.as_deref().unwrap_or("30m"))?,
            may_start: roles("sessions.may_start", &raw.sessions.may_start)?,
            approval_roles: roles("approvals.roles", &raw.approvals.roles)?,
            launch_timeout: span("sessions.launch_timeout", raw.sessions.launch_timeout.as_deref().unwrap_or("60s"))?,
            jobs: raw.exec.into_settings().map_err(|(key, why)| value(&format!("exec.{key}"), why))?,
            agents: agents::read(raw.hooks, raw.context, raw.identity).map_err(|(key, why)| value(key, why))?,
            guard: raw
                .guard
                .map(guard::Raw::into_rules)
                .transpose()
                .map_err(|(key, why)| value(&key, why))?
                .map(Arc::new),
            land: raw.land.into_settings().map_err(|(key, why)| value(&format!("land.{key}"), why))?,
            done_gates: gates("gates.done.require", raw.gates.done.require, &[Gate::Evidence])?,
            merge_gates: gates("gates.merge.require", raw.gates.merge.require, Gate::ALL)?,
            roles: launch::parse_entries("roles", raw.roles).map_err(|(key, why)| value(&key, why))?,
            providers: launch::parse_entries("providers", raw.providers).map_err(|(key, why)| value(&key, why))?,
            backends: raw
                .backends
                .into_iter()
                .map(|(name, raw)| {
                    let key = format!("backends.{name}.stale_after");
                    let stale_after = raw.stale_after.as_deref().map(|text| silence(&key, text)).transpose()?;
                    let backend = raw.into_backend(stale_after);
                    let backend = backend.map_err(|(key, why)| value(&format!("backends.{name}.{key}"), why))?;
                    Ok((name, backend))
                })
                .collect::<Result<_, ConfigError>>()?,
            notify: raw.notify.into_settings().map_err(|(key, why)| value(key, why))?,
            review_routes: raw
                .review_routes
                .into_iter()
                .map(|route| {
                    let domain = route.domain.ok_or_else(|| value("review_routes", "a route needs a domain".into()))?;
                    for glob in &route.paths {
                        globs::check(glob).map_err(|why| value("review_routes[].paths", why.to_string()))?;
                    }
                    let domain =
                        Label::parse(&domain).map_err(|why| value("review_routes[].domain", why.to_string()))?;
                    Ok(ReviewRoute { paths: route.paths, domain })
                })
                .collect::<Result<_, ConfigError>>()?,
        })
    }
}

impl Settings {
    /// The settings of a role; empty when it has no entry.
    #[must_use]
    pub fn role(&self, role: &Role) -> LaunchSettings {
        self.roles.get(role.as_str()).cloned().unwrap_or_default()
    }

    /// Whether the name is that of a configured provider or of a built-in profile.
    #[must_use]
    pub fn knows_provider(&self, name: &str) -> bool {
        self.providers.contains_key(name) || super::built_in_profiles().contains_key(name)
    }

    /// The settings of a provider, with its built-in profile below them.
    #[must_use]
    pub fn provider(&self, name: &str) -> LaunchSettings {
        let entry = self.providers.get(name).cloned().unwrap_or_default();
        let built_in = super::built_in_profiles().remove(name).unwrap_or_default();
        LaunchSettings { profile: entry.profile.clone().with_fallback(built_in), ..entry }
    }
}

fn gate_names(gates: &[Gate]) -> Vec<&'static str> {
    gates.iter().map(|gate| gate.as_str()).collect()
}
