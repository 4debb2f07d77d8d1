//! `fairway adapter …`: the scripts, and the plumbing that they call. None of it needs a project.

mod alive;
mod bare;
mod field;
mod install;
mod kill_tree;
mod list;
mod meta;
mod peek;
mod run;
mod socket;
mod tee;
mod typing;
mod unpack;

use anyhow::Result;
use clap::Subcommand;

use super::{Context, Exit};

/// Look at the scripts that start sessions
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
    Install(install::Args),
    #[command(hide = true)]
    Unpack(unpack::Args),
    #[command(hide = true)]
    Run(run::Args),
    #[command(hide = true)]
    Tee(tee::Args),
    #[command(hide = true)]
    KillTree(kill_tree::Args),
    #[command(hide = true)]
    Alive(alive::Args),
    #[command(hide = true)]
    Peek(peek::Args),
    #[command(hide = true)]
    Field(field::Args),
    #[command(hide = true)]
    Socket(socket::Args),
    #[command(hide = true)]
    Bare(bare::Args),
    #[command(hide = true)]
    Type(typing::Args),
    #[command(hide = true, subcommand)]
    Meta(meta::Verb),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Install(args) => args.run(ctx),
            Self::Unpack(args) => args.run(ctx),
            Self::Run(args) => args.run(ctx),
            Self::Tee(args) => args.run(ctx),
            Self::KillTree(args) => args.run(ctx),
            Self::Alive(args) => args.run(ctx),
            Self::Peek(args) => args.run(ctx),
            Self::Field(args) => args.run(ctx),
            Self::Socket(args) => args.run(ctx),
            Self::Bare(args) => args.run(ctx),
            Self::Type(args) => args.run(ctx),
            Self::Meta(verb) => verb.run(ctx),
        }
    }
}
