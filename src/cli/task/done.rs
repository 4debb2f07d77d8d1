//! `fairway task done`, also `fairway done`

use anyhow::Result;

use crate::{
    actions::task::done,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Finish a task, when its gates let it through
///
/// What stands in the way is named with the commands that would clear it. --force stands in for the claimant; the gates
/// stay.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// The commit that the work is at
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
