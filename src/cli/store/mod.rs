//! `fairway store …`

mod copy;
mod migrate;
mod restored;
mod show;

use anyhow::Result;
use clap::Subcommand;

use super::{confirm, context::Context, exit::Exit};

/// Show the store, move it between a file and a server
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Show(show::Args),
    Migrate(migrate::Args),
    Copy(copy::Args),
    Restored(restored::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Show(args) => args.run(ctx),
            Self::Migrate(args) => args.run(ctx),
            Self::Copy(args) => args.run(ctx),
            Self::Restored(args) => args.run(ctx),
        }
    }
}
