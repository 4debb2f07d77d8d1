//! `fairway task block`

use anyhow::Result;

use crate::{
    actions::task::block,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Block a claimed task; the claim stays
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
        let reason = self.force.needed("block")?;
        ctx.answer(&block::block(&ctx.app()?, &self.id, reason, self.force.force().as_ref())?)
    }
}
