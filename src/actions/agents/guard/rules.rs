//! Loaded guard rules.

use std::{path::PathBuf, sync::Arc};

use crate::{
    actions::App,
    config::trust::{self, GuardTrust},
    guard::Rules,
};

/// The rules in force and their trust status.
#[derive(Debug, Clone)]
pub struct LoadedRules {
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) trust: GuardTrust,
    pub(super) root: PathBuf,
    /// The digest of the trust record by which they are trusted; `None` without a record.
    pub digest: Option<String>,
}

impl LoadedRules {
    /// The rules of the project's settings.
    pub fn load(app: &App) -> Self {
        let trust = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings);
        Self { rules: app.settings.guard.clone(), trust, root: app.project.root.clone(), digest: None }
    }

    /// Like [`Self::load`], with the digest of the trust record, for a server that others must be able to believe.
    pub fn load_with_digest(app: &App) -> Self {
        Self { digest: trust::record_digest(&app.layers), ..Self::load(app) }
    }

    /// Whether there are no rules and none were trusted before; the guard then abstains.
    pub fn is_unconfigured(&self) -> bool {
        self.rules.is_none() && self.trust == GuardTrust::Absent
    }
}
