//! `fairway task dep rm`

use anyhow::Result;

use crate::{
    actions::task::dep,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Let a task wait for another no longer
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task that waits
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// The task that it waits for
    #[arg(value_parser = values::task)]
    depends_on: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&dep::rm(&ctx.app()?, &self.id, &self.depends_on)?)
    }
}
