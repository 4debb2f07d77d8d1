//! `fairway provider …`: the agents that can be launched.

mod list;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// List the agents that can be launched
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
        }
    }
}
