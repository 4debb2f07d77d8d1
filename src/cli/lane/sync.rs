//! `fairway lane sync`

use anyhow::Result;

use crate::{
    actions::queue::lane::sync::{self, SyncOptions},
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
};

/// Bring the base into a lane's branch and worktree
///
/// Merges the base into the branch; --rebase puts the branch's commits on top of the base instead. --onto brings in the merged tree
/// with which the lane was sent back by `land`, so that the failed check can be seen there. On a conflict nothing is
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
    /// Bring in this candidate of a landing, not the base
    #[arg(long, value_name = "CANDIDATE", conflicts_with = "rebase")]
    onto: Option<String>,
    /// Sync while another session works in the lane
    #[arg(long)]
    force: bool,
    /// Say what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (rebase, force, dry_run) = (self.rebase && !self.merge, self.force, self.dry_run);
        let options = SyncOptions { onto: self.onto, rebase, force, dry_run };
        ctx.answer(&sync::sync(&ctx.app()?, &self.name, &options)?)
    }
}
