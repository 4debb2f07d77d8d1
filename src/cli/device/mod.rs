//! `fairway device …`

mod list;
mod pair;
mod revoke;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit, values};

/// Pair browsers with the page, list and revoke them
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Pair(pair::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    Revoke(revoke::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Pair(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Revoke(args) => args.run(ctx),
        }
    }
}
