//! `fairway release`

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::queue::task::{ForceReason, release},
    domain::{Refusal, TaskId},
};

/// Release a claim: the task goes back to the queue
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    #[command(flatten)]
    force: ForceArgs,
}

/// Flags of the verbs that only a claimant may use.
#[derive(Debug, clap::Args)]
pub struct ForceArgs {
    /// Override the claimant; needs --reason
    #[arg(long, requires = "reason")]
    pub force: bool,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

impl ForceArgs {
    /// The force, when it is used.
    pub fn force(&self) -> Option<ForceReason> {
        let reason = self.reason.clone().filter(|_| self.force)?;
        Some(ForceReason { reason })
    }

    /// The reason of a verb that cannot do without.
    ///
    /// # Errors
    /// `usage`.
    pub fn needed(&self, verb: &str) -> Result<&str, Refusal> {
        self.reason.as_deref().ok_or_else(|| Refusal::Usage { why: format!("{verb} needs --reason TEXT") })
    }
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        ctx.answer(&release::release(&app, &self.id, self.force.reason.as_deref(), self.force.force().as_ref())?)
    }
}
