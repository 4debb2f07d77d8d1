//! `fairway pr …`

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::land;
use fairway_core::render::escape_controls;

/// Follow the pull requests of lanes
#[derive(Debug, Subcommand)]
#[command(after_help = "fairway pr sync")]
#[command(defer = true)]
pub enum Verb {
    Sync(SyncArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Sync(args) => args.run(ctx),
        }
    }
}

/// Ask the forge about all open pull requests
///
/// A merged one finishes its tasks and ends its lane, as `land` does. A demanded check that failed, or `changes requested` by a
/// person who may write, sends the work back, once for each commit. Lanes that conflict now are told. What strangers write
/// reaches no agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway pr sync --json")]
pub struct SyncArgs {}

impl SyncArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let say = |line: &str| ctx.out.note(&escape_controls(line));
        ctx.answer(&land::sync_pulls(&ctx.app()?, &say)?)
    }
}
