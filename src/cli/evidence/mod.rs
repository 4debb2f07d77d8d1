//! `fairway evidence …`

mod add;
mod list;
mod run;
mod show;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Record, list and show evidence of a task
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Run(run::Args),
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Run(args) => args.run(ctx),
            Self::Add(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
        }
    }
}
