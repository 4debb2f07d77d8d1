//! Loaded guard rules.

use std::{path::PathBuf, sync::Arc};

use crate::{
    actions::App,
    config::trust::{self, GuardTrust},
    guard::Rules,
};

/// The rules in force and whether they may be gone by: made once, and again when one of [`Prepared::files`] changes.
#[derive(Debug, Clone)]
pub struct LoadedRules {
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) trust: GuardTrust,
    pub(super) root: PathBuf,
}

impl LoadedRules {
    /// The rules of this house. Reads what was trusted, and every file that it covers.
    #[must_use]
    pub fn load(app: &App) -> Self {
        let standing = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings);
        Self { rules: app.settings.guard.clone(), trust: standing, root: app.project.root.clone() }
    }

    /// Whether there are no rules, and none were trusted before: then there is no opinion either.
    #[must_use]
    pub fn is_unconfigured(&self) -> bool {
        self.rules.is_none() && self.trust == GuardTrust::Absent
    }

    /// The files beyond the configuration that decide whether the rules may be gone by: what remembers the trust, and every
    /// script that it covers. One that changes, comes or goes asks for a new [`Prepared`].
    #[must_use]
    pub fn watched_files(app: &App) -> Vec<PathBuf> {
        let scripts = trust::content(&app.project, &app.layers, &app.settings);
        let scripts = scripts.map(|content| content.scripts.into_keys().collect::<Vec<_>>()).unwrap_or_default();
        trust::record_file(&app.env, &app.project).into_iter().chain(scripts).collect()
    }
}
