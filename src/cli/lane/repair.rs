//! `fairway lane repair`

use anyhow::Result;

use crate::{
    actions::queue::lane::repair,
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
};

/// Make a lane's worktree again
///
/// For a worktree whose directory was removed, or whose creation was interrupted. It is made from the lane's branch; a branch that
/// is gone starts again at the base. A worktree that is there stays as it is; after the project was moved, it is connected with
/// the repository again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&repair::repair(&ctx.app()?, &self.name)?)
    }
}
