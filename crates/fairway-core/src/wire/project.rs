//! The project as documents: its beginning, setup, configuration, backups and trust.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::DoctorView;

/// The answer to `init`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InitView {
    /// The project's root.
    pub root: PathBuf,
    /// The store's file, or its address on a server without the password.
    pub store: String,
    /// The files that were made, from the root.
    pub created: Vec<String>,
    /// The line for AGENTS.md or CLAUDE.md.
    pub paste: &'static str,
}

/// The answer to `backup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BackupView {
    /// The backup's file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The number of tasks in it.
    pub tasks: i64,
}

/// The answer to `restore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RestoreView {
    /// The backup's file.
    pub file: PathBuf,
    /// The store's file.
    pub store: PathBuf,
    /// The file in which the previous store is kept; null without one.
    pub kept: Option<PathBuf>,
    /// The number of restored tasks.
    pub tasks: i64,
    /// The epoch of every task from now on.
    pub epoch: i64,
}

/// The events that a snapshot does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MissingEventsView {
    /// How many.
    pub events: i64,
    /// The number of the first one; null without any.
    pub from: Option<i64>,
    /// The number of the last one; null without any.
    pub to: Option<i64>,
}

/// The answer to `trust`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrustView {
    /// The project's root.
    pub root: PathBuf,
    /// `trusted`, `untrusted` or `not_needed`.
    pub trust: &'static str,
    /// Why it is not trusted.
    pub why: Option<String>,
    /// The digest of each file of the configuration.
    pub files: BTreeMap<PathBuf, String>,
    /// The digest of each script inside the project.
    pub scripts: BTreeMap<PathBuf, String>,
    /// The settings that name a program, a variable or a rule, with secrets masked.
    pub names: Vec<TrustedSettingView>,
    /// The scripts of sessions that are not trusted.
    pub session_scripts: Vec<PathBuf>,
}

/// A setting that trust is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrustedSettingView {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SettingView {
    /// The key's full path.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The value as it is written in a file.
    #[serde(skip)]
    pub written: String,
    /// `default`, a file's path, or a variable's name.
    pub source: String,
}

/// A configuration that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigCheckView {
    /// Always true: a wrong one is an error.
    pub valid: bool,
    /// The files that it was read from, lowest layer first.
    pub files: Vec<String>,
    /// Whether it is trusted: `trusted`, `untrusted` or `not_needed`.
    pub trust: &'static str,
    /// Why it is not trusted.
    pub why: Option<String>,
}

/// The steps that `setup` did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SetupView {
    /// The project's root.
    pub root: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// One for each file.
    pub steps: Vec<SetupStepView>,
    /// The tasks that only a person can do.
    pub left: Vec<String>,
    /// The test of every hook.
    pub doctor: Option<DoctorView>,
    /// The command for the next step.
    pub next: String,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SetupStepView {
    /// Its subject.
    pub kind: &'static str,
    /// The file.
    pub file: String,
    /// Where the file is, when a link in the repository leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `changed`, `would_change`, `unchanged` or `left`.
    pub status: &'static str,
    /// Why it is left as it is.
    pub why: Option<String>,
    /// The lines that are added at its end.
    pub text: Option<String>,
}
