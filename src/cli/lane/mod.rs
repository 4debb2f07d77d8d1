//! `fairway lane …`

mod add;
mod close;
mod diff;
mod edit;
mod list;
mod open;
mod pause;
mod prune;
mod repair;
mod rm;
mod show;
mod sync;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Manage lanes: named worktrees with a role and a limit
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Diff(diff::Args),
    Sync(sync::Args),
    Edit(edit::Args),
    Pause(pause::Args),
    Open(open::Args),
    Close(close::Args),
    Rm(rm::Args),
    Prune(prune::Args),
    Repair(repair::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Add(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Diff(args) => args.run(ctx),
            Self::Sync(args) => args.run(ctx),
            Self::Edit(args) => args.run(ctx),
            Self::Pause(args) => args.run(ctx),
            Self::Open(args) => args.run(ctx),
            Self::Close(args) => args.run(ctx),
            Self::Rm(args) => args.run(ctx),
            Self::Prune(args) => args.run(ctx),
            Self::Repair(args) => args.run(ctx),
        }
    }
}
