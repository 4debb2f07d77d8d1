//! `fairway task dep add`

use anyhow::Result;

use crate::{
    actions::queue::task::dep,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Make a task depend on another
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Dependent task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Task that must be done first
    #[arg(value_parser = values::task)]
    depends_on: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&dep::add(&ctx.app()?, &self.id, &self.depends_on)?)
    }
}
