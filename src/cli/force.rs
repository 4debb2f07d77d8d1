//! `--force` with its reason: the override of another actor.

use fairway_actions::queue::task::ForceReason;

/// The override. A verb says by `mut_arg` what it overrides.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct ForceArgs {
    /// Override the actor; needs --reason
    #[arg(long, requires = "reason")]
    force: bool,
    /// Reason for --force, kept in the history
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
}

impl ForceArgs {
    /// Returns the reason for overriding the actor, and `None` without `--force`.
    pub(in crate::cli) fn reason(self) -> Option<ForceReason> {
        self.reason.filter(|_| self.force).map(|reason| ForceReason { reason })
    }
}
