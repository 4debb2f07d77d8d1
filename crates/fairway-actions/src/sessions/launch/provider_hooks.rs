//! The facts about a provider's hooks that a launch needs. The layer above knows the providers and implements the trait.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Fairway's hooks of one provider, in the form that the provider's arguments expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookSettings {
    /// The text of a settings file.
    File(String),
    /// Settings, each `KEY=VALUE`.
    Values(Vec<String>),
}

/// Where a provider's program is about to run.
#[derive(Debug, Clone, Copy)]
pub struct HookPlace<'a> {
    pub provider: &'a str,
    /// The complete environment of the program.
    pub env: &'a BTreeMap<OsString, OsString>,
    pub home: Option<&'a Path>,
    /// Its working directory.
    pub worktree: &'a Path,
}

/// A question to the provider's program: whether it runs the hooks.
#[derive(Debug, Clone)]
pub struct HookQuestion {
    pub provider: String,
    pub program: PathBuf,
    /// The arguments that bring the hooks; empty when they are installed.
    pub args: Vec<String>,
    /// The user's own arguments.
    pub own_args: Vec<String>,
    /// The complete environment of the program.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory.
    pub worktree: PathBuf,
}

/// The answer to a [`HookQuestion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookVerdict {
    /// They run, or the provider has no such question.
    Runs,
    /// The provider skips them, for this reason in its own words.
    Skipped(String),
    /// A setting turns them off, as this clause says.
    Off(String),
    /// It is unknown, for this reason.
    Unknown(String),
}

/// The facts about the providers' hooks.
pub trait ProviderHooks: fmt::Debug + Sync {
    /// Fairway's hooks of a provider for one launch; `None` for a provider without known hooks. `fairway` is the path of this
    /// program; `root` is the main checkout, whose settings say whether the worktrees of subagents are lanes.
    fn settings(&self, provider: &str, fairway: &Path, root: &Path, approval_wait: Duration) -> Option<HookSettings>;

    /// Whether the provider's own settings hold Fairway's hooks for a worktree.
    fn are_installed(&self, place: HookPlace<'_>, fairway: &Path) -> bool;

    /// The directories that the user's own configuration lets the provider's sandbox write. A launch repeats them, because an
    /// argument may replace them.
    fn own_writable_dirs(&self, place: HookPlace<'_>) -> Vec<PathBuf>;

    /// More arguments for the provider's sandbox, which protect the `protected` paths below the `writable` ones. `None` when
    /// the provider has no such arguments, or when the user's settings or the words of the command already define what the
    /// sandbox allows.
    fn sandbox_args(
        &self,
        place: HookPlace<'_>,
        words: &[String],
        writable: &[PathBuf],
        protected: &[PathBuf],
    ) -> Option<Vec<String>>;

    /// Whether a launch adds its hooks even when they are installed. The installed ones then do nothing.
    fn run_beside_installed(&self, settings: &HookSettings) -> bool {
        matches!(settings, HookSettings::File(_))
    }

    /// Asks the program whether it will run the hooks. That takes a fraction of a second, a few seconds at most.
    fn ask(&self, question: &HookQuestion) -> HookVerdict;
}
