//! `fairway review …`

mod card;
mod list;
mod next;
mod record;
mod request;
mod withdraw;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// See what waits for review; request and record reviews
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Next(next::Args),
    Request(request::Args),
    Record(record::Args),
    List(list::Args),
    Withdraw(withdraw::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Next(args) => args.run(ctx),
            Self::Request(args) => args.run(ctx),
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Withdraw(args) => args.run(ctx),
        }
    }
}
