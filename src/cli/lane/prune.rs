//! `fairway lane prune`

use anyhow::Result;

use crate::{
    actions::queue::lane::prune,
    cli::{context::Context, exit::Exit},
};

/// Remove the worktrees of closed lanes
///
/// Removes the worktrees and branches that Fairway made for closed lanes whose work is in the base. A worktree with changes, with
/// commits that the base lacks, with a live session, a claimed task or a running job stays. Each one that stays is listed with the
/// reason and a command. Ignored files are removed with their worktree, as by `git worktree remove`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&prune::prune(&ctx.app()?, self.dry_run)?)
    }
}
