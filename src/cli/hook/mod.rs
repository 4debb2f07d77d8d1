//! `fairway hook …`

mod install;
mod target;
mod uninstall;

use anyhow::Result;
use clap::Subcommand;

use super::{Context, Exit};

/// The bridge to the hooks of agents' command lines
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Install(install::Args),
    Uninstall(uninstall::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Install(args) => args.run(ctx),
            Self::Uninstall(args) => args.run(ctx),
        }
    }
}
