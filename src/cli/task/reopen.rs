//! `fairway task reopen`

use anyhow::Result;

use crate::{
    actions::queue::task::transition,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Reopen a closed task
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&transition::reopen(&ctx.app()?, &self.id, &self.reason)?)
    }
}
