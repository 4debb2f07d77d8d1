//! `fairway review withdraw`

use anyhow::Result;

use crate::{
    actions::queue::{review::withdraw, task::ForceReason},
    cli::{context::Context, exit::Exit},
};

/// Withdraw a review request, or your negative verdict
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Review number
    #[arg(value_name = "ID")]
    id: i64,
    /// Withdraw the review of another actor; needs --reason
    #[arg(long, requires = "reason")]
    force: bool,
    /// Reason for --force, kept in the history
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let force = self.reason.filter(|_| self.force).map(|reason| ForceReason { reason });
        ctx.answer(&withdraw::withdraw(&ctx.app()?, self.id, force.as_ref())?)
    }
}
