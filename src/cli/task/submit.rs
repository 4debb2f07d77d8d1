//! `fairway task submit`

use anyhow::Result;

use crate::{
    actions::queue::task::submit,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Submit a claimed task for review; the claim stays
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Commit of the finished work
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let force = self.force.force();
        ctx.answer(&submit::submit(&ctx.app()?, &self.id, self.commit.as_deref(), force.as_ref())?)
    }
}
