//! `fairway task dep …`

mod add;
mod rm;
mod tree;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::{context::Context, exit::Exit};

/// Manage task dependencies
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Add(add::Args),
    Rm(rm::Args),
    Tree(tree::Args),
}

impl Verb {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Add(args) => args.run(ctx),
            Self::Rm(args) => args.run(ctx),
            Self::Tree(args) => args.run(ctx),
        }
    }
}
