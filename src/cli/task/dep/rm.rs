//! `fairway task dep rm`

use anyhow::Result;

use crate::{
    actions::queue::task::dep,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Remove a dependency
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Dependent task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Task that it no longer depends on
    #[arg(value_parser = values::task)]
    depends_on: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&dep::rm(&ctx.app()?, &self.id, &self.depends_on)?)
    }
}
