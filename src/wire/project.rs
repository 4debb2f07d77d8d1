//! A project's beginning, backups and trust as documents.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

/// The answer to `init`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustedSettingView {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}
