//! `fairway handoff …`

mod accept;
mod create;
mod decline;
mod list;
mod withdraw;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Offer tasks to other roles or lanes, answer offers
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Create(create::Args),
    List(list::Args),
    Accept(accept::Args),
    Decline(decline::Args),
    Withdraw(withdraw::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Create(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Accept(args) => args.run(ctx),
            Self::Decline(args) => args.run(ctx),
            Self::Withdraw(args) => args.run(ctx),
        }
    }
}
