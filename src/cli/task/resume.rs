//! `fairway task resume`

use anyhow::Result;

use crate::{
    actions::task::resume,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Resume a submitted task
///
/// For its claimant, who keeps the claim, and for the reviewer who last asked for changes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    id: TaskId,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&resume::resume(&ctx.app()?, &self.id, self.force.force().as_ref())?)
    }
}
