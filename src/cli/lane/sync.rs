//! `fairway lane sync`

use anyhow::Result;

use crate::{
    actions::queue::lane::sync::{self, SyncOptions},
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
};

/// Bring the base into a lane's branch and worktree
///
/// Merges the base into the branch; --rebase puts the branch's commits on top of the base instead. On a conflict nothing is
/// changed, and the error names the files. A worktree with changes is refused. Nothing is fetched, and git hooks do not run.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    /// Merge the base into the branch; the default
    #[arg(long)]
    merge: bool,
    /// Put the branch's commits on top of the base
    #[arg(long, conflicts_with = "merge")]
    rebase: bool,
    /// Sync while another session works in the lane
    #[arg(long)]
    force: bool,
    /// Say what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let options = SyncOptions { rebase: self.rebase && !self.merge, force: self.force, dry_run: self.dry_run };
        ctx.answer(&sync::sync(&ctx.app()?, &self.name, options)?)
    }
}
