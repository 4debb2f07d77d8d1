//! `fairway session …`

mod launch;
mod peek;
mod stop;

use anyhow::Result;
use clap::Subcommand;

use super::{Context, Exit};

/// Start, look at and end sessions
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Launch(Box<launch::Args>),
    Peek(peek::Args),
    Stop(stop::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Launch(args) => args.run(ctx),
            Self::Peek(args) => args.run(ctx),
            Self::Stop(args) => args.run(ctx),
        }
    }
}
