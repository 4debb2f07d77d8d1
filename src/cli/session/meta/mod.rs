//! `fairway session meta …`

mod get;
mod rm;
mod set;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::{context::Context, exit::Exit};

/// Manage values that a session's backend stores
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Set(set::Args),
    Get(get::Args),
    Rm(rm::Args),
}

impl Verb {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Set(args) => args.run(ctx),
            Self::Get(args) => args.run(ctx),
            Self::Rm(args) => args.run(ctx),
        }
    }
}
