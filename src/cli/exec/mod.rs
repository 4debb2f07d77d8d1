//! `fairway exec …`

mod spawn;
mod worker;

use anyhow::Result;
use clap::Subcommand;

use super::{Context, Exit};

/// Commands that outlive the call: start, look, steer, end
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Spawn(spawn::Args),
    Worker(worker::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Spawn(args) => args.run(ctx),
            Self::Worker(args) => args.run(ctx),
        }
    }
}
