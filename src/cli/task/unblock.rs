//! `fairway task unblock`

use anyhow::Result;

use crate::{
    actions::task::block,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Unblock a task
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
        ctx.answer(&block::unblock(&ctx.app()?, &self.id, self.force.force().as_ref())?)
    }
}
