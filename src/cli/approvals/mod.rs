//! `fairway approvals …`

mod answer;
mod list;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// List and answer permission requests of agents
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
    Answer(answer::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Answer(args) => args.run(ctx),
        }
    }
}
