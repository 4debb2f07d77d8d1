//! `fairway handoff accept`

use anyhow::Result;

use crate::{
    actions::handoff::accept,
    cli::{context::Context, exit::Exit},
};

/// Accept a handoff; with --claim the task becomes yours in the same step
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The handoff's number
    #[arg(value_name = "ID")]
    id: i64,
    /// Take the claim over as well
    #[arg(long)]
    claim: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&accept::accept(&ctx.app()?, self.id, self.claim)?)
    }
}
