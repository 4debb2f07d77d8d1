//! The settings in force, each of its own type, by the sections of the file.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer};
use serde_path_to_error::{Path, Segment};
use toml::{Table, Value};

use super::{
    AgentSettings, Backend, ConfigError, ContextSettings, HookSettings, IdentitySettings, JobSettings, LandSettings,
    LaunchSettings, Layers, NotifySettings, OverlapSettings, Project, ReviewSettings, SandboxSettings, StoreSettings,
    guard,
    values::{self, StaleAfter},
};
use crate::{
    domain::{
        Role, TaskId,
        id::Label,
        rules::{claim::PathPolicy, gate::Gate},
    },
    guard::Rules,
};

/// All settings. Defaults that a person can change stand in `keys`, too.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub project: ProjectSettings,
    /// Where the store is.
    pub store: StoreSettings,
    pub tasks: TaskSettings,
    pub claims: ClaimSettings,
    /// Overlap between lanes.
    pub overlap: OverlapSettings,
    pub review: ReviewSettings,
    pub sessions: SessionSettings,
    /// Background jobs.
    #[serde(rename = "exec")]
    pub jobs: JobSettings,
    pub hooks: HookSettings,
    /// Permission requests.
    pub approvals: ApprovalSettings,
    /// The contexts of agents.
    pub context: ContextSettings,
    /// The identities of runtimes.
    pub identity: IdentitySettings,
    /// The guard rules; `None`: there is no guard.
    #[serde(skip)]
    pub guard: Option<Arc<Rules>>,
    /// The gates of `done` and `merge-ready`.
    gates: GateSettings,
    pub land: LandSettings,
    /// By role.
    pub roles: BTreeMap<String, LaunchSettings>,
    /// By provider.
    pub providers: BTreeMap<String, LaunchSettings>,
    /// All agents.
    pub agents: AgentSettings,
    /// By name.
    pub backends: BTreeMap<String, Backend>,
    /// In the order of the file.
    pub review_routes: Vec<ReviewRoute>,
    /// Notifications.
    pub notify: NotifySettings,
    pub sandbox: SandboxSettings,
}

/// The settings of the project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectSettings {
    /// The project's name; the root directory's by default.
    pub name: String,
    /// The branch from which lanes start.
    pub base_branch: String,
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self { name: String::new(), base_branch: "main".into() }
    }
}

/// The settings of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TaskSettings {
    /// The prefix of generated ids.
    #[serde(deserialize_with = "prefix")]
    pub prefix: String,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self { prefix: "T".into() }
    }
}

fn prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    values::checked(deserializer, |prefix: &String| match TaskId::parse(prefix) {
        Ok(_) if prefix.len() <= 32 => Ok(()),
        _ => Err(format!("'{}' cannot begin a task id", prefix.escape_debug())),
    })
}

/// The settings of claims.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimSettings {
    /// The lease of claims; `None` for claims without a lease.
    #[serde(deserialize_with = "lease")]
    pub lease: Option<Duration>,
    /// The policy for overlapping paths.
    #[serde(deserialize_with = "values::word")]
    pub path_conflicts: PathPolicy,
    /// Whether `claim` without an id claims tasks of the own lane only, and none without a lane.
    pub own_lane_only: bool,
}

impl Default for ClaimSettings {
    fn default() -> Self {
        Self { lease: None, path_conflicts: PathPolicy::Refuse, own_lane_only: false }
    }
}

fn lease<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    values::span_or("none", deserializer)
}

/// The settings of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SessionSettings {
    /// The backend of a launch that names none.
    pub default_backend: String,
    /// Silence after which a session is stale.
    pub stale_after: StaleAfter,
    /// How long a start may take.
    #[serde(deserialize_with = "values::span")]
    pub launch_timeout: Duration,
    /// The roles of sessions that may start sessions.
    #[serde(deserialize_with = "values::roles")]
    pub may_start: Vec<Role>,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            default_backend: "shell".into(),
            stale_after: StaleAfter::After(Duration::from_secs(30 * 60)),
            launch_timeout: Duration::from_secs(60),
            may_start: Vec::new(),
        }
    }
}

/// The settings of permission requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ApprovalSettings {
    /// The roles of sessions that may answer permission requests of others.
    #[serde(deserialize_with = "values::roles")]
    pub roles: Vec<Role>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct GateSettings {
    done: DoneGates,
    merge: MergeGates,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct DoneGates {
    #[serde(deserialize_with = "values::words")]
    require: Vec<Gate>,
}

impl Default for DoneGates {
    fn default() -> Self {
        Self { require: vec![Gate::Evidence] }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct MergeGates {
    #[serde(deserialize_with = "values::words")]
    require: Vec<Gate>,
}

impl Default for MergeGates {
    fn default() -> Self {
        Self {
            require: Gate::ALL
                .iter()
                .copied()
                .filter(|gate| !matches!(gate, Gate::Comments | Gate::ReviewedExecutables))
                .collect(),
        }
    }
}

/// Paths whose tasks need an approval.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReviewRoute {
    /// The globs.
    #[serde(default, deserialize_with = "values::globs")]
    pub paths: Vec<String>,
    #[serde(deserialize_with = "domain")]
    pub domain: Label,
}

fn domain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Label, D::Error> {
    values::parsed(deserializer, Label::parse)
}

impl Settings {
    /// Whether the base of each lane is that of a remote: the store is on a server, for several hosts.
    pub const fn shares_base(&self) -> bool {
        self.store.is_on_server() && self.land.shared
    }

    /// The settings that the layers of a project make.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for an invalid value.
    pub fn from_layers(layers: &Layers, project: &Project) -> Result<Self, ConfigError> {
        let mut settings = Self::from_table(layers.merged()).map_err(|(key, why)| ConfigError::Value {
            place: layers.location_of(&key),
            key,
            why,
        })?;
        if settings.project.name.is_empty() {
            let dir = project.root.file_name().unwrap_or_default();
            settings.project.name = dir.to_string_lossy().into_owned();
        }
        Ok(settings)
    }

    /// The settings of this table, or the key and the reason of an invalid value.
    fn from_table(mut table: Table) -> Result<Self, (String, String)> {
        let guard = table.remove("guard").map(guard::parse).transpose()?;
        let settings: Self = serde_path_to_error::deserialize(Value::Table(table))
            .map_err(|error| (key_of(error.path()), error.inner().message().to_owned()))?;
        for (section, entries) in [("roles", &settings.roles), ("providers", &settings.providers)] {
            for name in entries.keys() {
                Label::parse(name).map_err(|why| (format!("{section}.{name}"), why.to_string()))?;
            }
        }
        settings.notify.check()?;
        Ok(Self { guard: guard.map(Arc::new), ..settings })
    }

    /// The settings of a file's text.
    #[cfg(test)]
    pub(super) fn parse(text: &str) -> Result<Self, (String, String)> {
        Self::from_table(text.parse().unwrap())
    }

    /// The gates of `done`.
    pub fn done_gates(&self) -> &[Gate] {
        &self.gates.done.require
    }

    /// The gates of `merge-ready`.
    pub fn merge_gates(&self) -> &[Gate] {
        &self.gates.merge.require
    }

    /// The settings of a role; empty when it has no entry.
    pub fn role(&self, role: &Role) -> LaunchSettings {
        self.roles.get(role.as_str()).cloned().unwrap_or_default()
    }

    /// Whether the name is that of a configured provider or of a built-in profile.
    pub fn knows_provider(&self, name: &str) -> bool {
        self.providers.contains_key(name) || super::built_in_profiles().contains_key(name)
    }

    /// The settings of a provider, with its built-in profile below them.
    pub fn provider(&self, name: &str) -> LaunchSettings {
        let entry = self.providers.get(name).cloned().unwrap_or_default();
        let built_in = super::built_in_profiles().remove(name).unwrap_or_default();
        LaunchSettings { profile: entry.profile.clone().with_fallback(built_in), ..entry }
    }
}

/// The key at this path, as `keys` spells it: `[]` for the elements of a list.
fn key_of(path: &Path) -> String {
    let mut key = String::new();
    for segment in path {
        match segment {
            Segment::Map { key: name } if key.is_empty() => key.push_str(name),
            Segment::Map { key: name } => {
                key.push('.');
                key.push_str(name);
            }
            _ => key.push_str("[]"),
        }
    }
    key.trim_end_matches("[]").to_owned()
}
