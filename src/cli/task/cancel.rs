//! `fairway task cancel`

use anyhow::Result;

use crate::{
    actions::task::cancel,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Cancel a task for good
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
        let reason = self.force.needed("cancel")?;
        ctx.answer(&cancel::cancel(&ctx.app()?, &self.id, reason, self.force.force().as_ref())?)
    }
}
