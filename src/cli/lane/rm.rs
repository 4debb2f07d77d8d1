//! `fairway lane rm`

use anyhow::Result;

use crate::{
    actions::queue::lane::rm,
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
};

/// Remove a lane with its worktree and branch
///
/// Only what Fairway created is removed. A worktree with changes, or a branch with unmerged commits, is refused. So is a lane with
/// open tasks, live sessions, open handoffs or messages. The history of a lane stays; its name can be used again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&rm::rm(&ctx.app()?, &self.name)?)
    }
}
