//! `fairway task cancel`

use anyhow::Result;

use crate::{
    actions::queue::task::transition,
    cli::{context::Context, each, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Cancel tasks for good
///
/// Each task is cancelled by itself: the failure of one stops no other, and the exit code is that of the first failure. With
/// --json, several ids are answered with an array.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task ids
    #[arg(required = true, value_parser = values::task)]
    id: Vec<TaskId>,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let reason = self.force.needed("cancel", &self.id)?;
        let force = self.force.force();
        each::each(ctx, &ctx.app()?, &self.id, |app, id| transition::cancel(app, id, reason, force.as_ref()))
    }
}
