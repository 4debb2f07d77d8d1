//! `fairway config …`

mod check;
mod edit;
mod example;
mod schema;
mod show;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Show and check the configuration
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Show(show::Args),
    Check(check::Args),
    Edit(edit::Args),
    Example(example::Args),
    Schema(schema::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Show(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Edit(args) => args.run(ctx),
            Self::Example(args) => args.run(ctx),
            Self::Schema(args) => args.run(ctx),
        }
    }
}
