//! `fairway handoff accept`

use anyhow::Result;

use crate::{
    actions::queue::handoff::accept,
    cli::{context::Context, exit::Exit},
};

/// Accept a handoff; --claim also takes the claim
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    /// Take over the claim in the same step
    #[arg(long)]
    claim: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&accept::accept(&ctx.app()?, self.id, self.claim)?)
    }
}
