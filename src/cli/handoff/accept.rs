//! `fairway handoff accept`

use anyhow::Result;

use crate::{
    actions::queue::handoff::accept,
    cli::{context::Context, exit::Exit},
};

/// Accept a handoff and claim its task
///
/// When the claim is refused, the handoff stays open.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    /// Accept only; the task keeps its claimant
    #[arg(long)]
    no_claim: bool,
    /// Claim the task, as is the default
    #[arg(long, hide = true, conflicts_with = "no_claim")]
    claim: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&accept::accept(&ctx.app()?, self.id, !self.no_claim)?)
    }
}
