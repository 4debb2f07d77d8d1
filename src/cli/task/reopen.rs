//! `fairway task reopen`

use anyhow::Result;

use crate::{
    actions::task::reopen,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Take a closed task up again
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Why; kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&reopen::reopen(&ctx.app()?, &self.id, &self.reason)?)
    }
}
