//! `fairway lane setup`

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::queue::lane::setup::{self, LaneCommands};
use fairway_core::domain::LaneName;

/// Make a lane's worktree ready for work
///
/// Copies the missing ignored files that .worktreeinclude and [lanes] include name, then runs the commands of [lanes] setup in
/// the worktree. `start` does the same before the first agent of a lane; after a failure no agent starts there until this
/// command succeeds. `fairway trust` permits the commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane setup api
fairway lane setup api --again")]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    /// Run the commands also when the lane is ready
    #[arg(long)]
    again: bool,
    /// Run [lanes] teardown instead; the lane is then not set up
    #[arg(long, conflicts_with = "again")]
    teardown: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let which = if self.teardown { LaneCommands::Teardown } else { LaneCommands::Setup };
        ctx.answer(&setup::run(&ctx.app()?, &self.name, which, self.again, &ctx.relay())?)
    }
}
