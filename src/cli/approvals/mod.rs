//! `fairway approvals …`

mod answer;
mod list;
mod watch;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// List, watch and answer permission requests of agents
///
/// Without a command: the list of the open ones.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Keep running: print each new request and ring the bell
    #[arg(long)]
    watch: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The commands for approvals.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    List(list::Args),
    Watch(watch::Args),
    Answer(answer::Args),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self.verb {
            Some(Verb::List(args)) => args.run(ctx),
            Some(Verb::Watch(args)) => args.run(ctx),
            Some(Verb::Answer(args)) => args.run(ctx),
            None if self.watch => watch::run(ctx, None),
            None => list::Args::default().run(ctx),
        }
    }
}
