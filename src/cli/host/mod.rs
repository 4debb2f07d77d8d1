//! `fairway host …`

mod list;
mod renew;
mod retire;

use anyhow::Result;
use clap::Subcommand;

use super::{confirm, context::Context, exit::Exit};

/// List the machines of a store, give up one of them
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
    Renew(renew::Args),
    Retire(retire::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Renew(args) => args.run(ctx),
            Self::Retire(args) => args.run(ctx),
        }
    }
}
