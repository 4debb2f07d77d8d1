//! `fairway host …`

mod list;
mod renew;

use anyhow::Result;
use clap::Subcommand;

use super::{confirm, context::Context, exit::Exit};

/// List the machines of a store, give this one a new id
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
    Renew(renew::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Renew(args) => args.run(ctx),
        }
    }
}
