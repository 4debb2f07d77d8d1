//! `fairway checkpoint …`

mod format;
mod latest;
mod list;
mod overdue;
mod record;
mod show;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Record, list and show task checkpoints
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Record(record::Args),
    List(list::Args),
    Show(show::Args),
    Latest(latest::Args),
    Overdue(overdue::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Latest(args) => args.run(ctx),
            Self::Overdue(args) => args.run(ctx),
        }
    }
}
