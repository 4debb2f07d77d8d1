//! The settings in force, each of its own type, by the sections of the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Table;

use super::guard::GuardRules;
use super::section::{Section, Wrong, section};
use super::sections::GateSettings;
use super::{
    AgentSettings, Backend, BudgetSettings, CheckSettings, ClaimSettings, ConfigError, ForgeSettings, HookSettings,
    IdentitySettings, JobSettings, LandSettings, LaneSettings, Layers, NotifySettings, OverlapSettings, Project,
    ProjectSettings, ProviderSettings, ReviewRoute, ReviewSettings, RoleSettings, SandboxSettings, ServeSettings,
    SessionSettings, StoreSettings, TaskSettings,
};
use crate::domain::Role;
use crate::domain::id::Label;
use crate::domain::rules::gate::Gate;
use crate::guard::Rules;

section! {
    /// All settings.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Settings {}
    parts {
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
        pub jobs in "exec": JobSettings,
        pub hooks: HookSettings,
        /// The identities of runtimes.
        pub identity: IdentitySettings,
        /// The guard rules; `None`: there is no guard.
        pub guard: Option<Arc<Rules>> as Option<GuardRules>,
        /// The gates of `done` and `merge-ready`.
        gates: GateSettings,
        pub lanes: LaneSettings,
        pub checks: CheckSettings,
        pub land: LandSettings,
        /// Where pull requests are.
        pub forge: ForgeSettings,
        /// By role.
        pub roles: BTreeMap<String, RoleSettings>,
        /// By provider.
        pub providers: BTreeMap<String, ProviderSettings>,
        /// All agents.
        pub agents: AgentSettings,
        pub budgets: BudgetSettings,
        /// By name.
        pub backends: BTreeMap<String, Backend>,
        /// In the order of the file.
        pub review_routes: Vec<ReviewRoute>,
        /// Notifications.
        pub notify: NotifySettings,
        pub sandbox: SandboxSettings,
        /// The board in the browser.
        pub serve: ServeSettings,
    }
}

impl Default for Settings {
    fn default() -> Self {
        // A test reads every default.
        Self::from_table(Table::new()).unwrap_or_else(|wrong| unreachable!("{wrong:?}"))
    }
}

impl Settings {
    /// Whether lanes take their base from a remote: true when the store is on a server, which several hosts may use, and
    /// `land.shared` is set.
    pub const fn shares_base(&self) -> bool {
        self.store.is_on_server() && self.land.shared
    }

    pub fn from_layers(layers: &Layers, project: &Project) -> Result<Self, ConfigError> {
        let mut settings = Self::from_table(layers.merged()).map_err(|Wrong { key, why }| ConfigError::Value {
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

    /// Reads the settings from a table. The error has the key and the reason of an invalid value.
    fn from_table(mut table: Table) -> Result<Self, Wrong> {
        // A wrong list is told as a whole.
        let settings = Self::take(&mut table)
            .map_err(|wrong| Wrong { key: wrong.key.trim_end_matches("[]").to_owned(), ..wrong })?;
        let names = |section, names: Vec<&String>| {
            let wrong = names.into_iter().find_map(|name| Some((name, Label::parse(name).err()?)));
            wrong.map_or(Ok(()), |(name, why)| Err(Wrong::at(format!("{section}.{name}"), why)))
        };
        names("roles", settings.roles.keys().collect())?;
        names("providers", settings.providers.keys().collect())?;
        settings.notify.check()?;
        Ok(settings)
    }

    #[cfg(test)]
    pub(super) fn parse(text: &str) -> Result<Self, (String, String)> {
        Self::from_table(text.parse().unwrap()).map_err(|wrong| (wrong.key, wrong.why))
    }

    pub fn done_gates(&self) -> &[Gate] {
        &self.gates.done.require
    }

    /// The gates that `fairway merge-ready` judges.
    pub fn merge_gates(&self) -> &[Gate] {
        &self.gates.merge.require
    }

    /// The settings of a role; empty when the configuration has no entry for it.
    pub fn role(&self, role: &Role) -> RoleSettings {
        self.roles.get(role.as_str()).cloned().unwrap_or_default()
    }

    /// Whether the name is that of a configured provider or of a built-in profile.
    pub fn knows_provider(&self, name: &str) -> bool {
        self.providers.contains_key(name) || super::built_in_profiles().contains_key(name)
    }

    /// The settings of a provider. A key of its profile that the configuration does not set comes from the built-in profile with
    /// the provider's name.
    pub fn provider(&self, name: &str) -> ProviderSettings {
        let entry = self.providers.get(name).cloned().unwrap_or_default();
        let built_in = super::built_in_profiles().remove(name).unwrap_or_default();
        ProviderSettings { profile: entry.profile.clone().with_fallback(built_in), ..entry }
    }

    /// The settings of a sandbox around the program of this provider, with the hosts and variables of its profile.
    pub fn sandbox_of(&self, provider: Option<&Label>) -> SandboxSettings {
        let mut settings = self.sandbox.clone();
        if let Some(profile) = provider.map(|name| self.provider(name.as_str()).profile) {
            settings.hosts.extend(profile.facts.sandbox_hosts.unwrap_or_default());
            settings.env.extend(profile.facts.sandbox_env.unwrap_or_default());
        }
        settings
    }
}
