//! `fairway guard …`

mod check;
mod input;
mod log;
mod test;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Check tool calls against the guard rules
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Check(check::Args),
    Test(test::Args),
    Log(log::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Check(args) => args.run(ctx),
            Self::Test(args) => args.run(ctx),
            Self::Log(args) => args.run(ctx),
        }
    }
}
