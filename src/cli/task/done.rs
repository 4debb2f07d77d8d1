//! `fairway task done`, also `fairway done`

use anyhow::Result;

use crate::{
    actions::queue::task::done,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Finish a task whose gates are met
///
/// Unmet gates are listed as blockers, each with the command that clears it. --force overrides the claimant, not the
/// gates.
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
        ctx.answer(&done::done(&ctx.app()?, &self.id, self.commit.as_deref(), force.as_ref())?)
    }
}
