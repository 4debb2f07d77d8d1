//! `fairway lane rm`

use anyhow::Result;

use crate::{
    actions::lane::rm,
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
};

/// Remove a lane that nothing points at, and the worktree and branch that were made for it
///
/// A worktree with changes, or a branch with commits that are not in its base, is never removed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The lane
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&rm::rm(&ctx.app()?, &self.name)?)
    }
}
