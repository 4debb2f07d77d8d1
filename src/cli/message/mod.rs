//! `fairway message …`

mod send;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Tell sessions, lanes and roles something
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Send(send::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Send(args) => args.run(ctx),
        }
    }
}
