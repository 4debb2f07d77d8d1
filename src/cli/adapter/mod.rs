//! `fairway adapter …`: the backends, and the commands that backend scripts call. None of it needs a project.

mod check;
mod install;
mod list;
mod plumbing;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// List, install and check backends
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
    Install(install::Args),
    Check(check::Args),
    #[command(flatten)]
    Plumbing(plumbing::Plumbing),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Install(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Plumbing(command) => command.run(ctx),
        }
    }
}
