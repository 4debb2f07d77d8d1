//! Loaded guard rules.

use std::{path::PathBuf, sync::Arc};

use crate::{
    actions::App,
    config::trust::{self, GuardTrust},
    guard::Rules,
};

/// The rules in force and their trust status. Must be loaded again when one of [`LoadedRules::watched_files`] changes.
#[derive(Debug, Clone)]
pub struct LoadedRules {
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) trust: GuardTrust,
    pub(super) root: PathBuf,
}

impl LoadedRules {
    /// Loads the rules of the project. Reads the trust record and every file that it covers.
    #[must_use]
    pub fn load(app: &App) -> Self {
        let trust = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings);
        Self { rules: app.settings.guard.clone(), trust, root: app.project.root.clone() }
    }

    /// Whether there are no rules and none were trusted before; the guard then abstains.
    #[must_use]
    pub fn is_unconfigured(&self) -> bool {
        self.rules.is_none() && self.trust == GuardTrust::Absent
    }

    /// The files besides the configuration that decide about the trust: the trust record, and every script that it covers. If
    /// one of them changes, appears or disappears, the rules must be loaded again.
    #[must_use]
    pub fn watched_files(app: &App) -> Vec<PathBuf> {
        let scripts = trust::content(&app.project, &app.layers, &app.settings);
        let scripts = scripts.map(|content| content.scripts.into_keys().collect::<Vec<_>>()).unwrap_or_default();
        trust::record_file(&app.env, &app.project).into_iter().chain(scripts).collect()
    }
}
