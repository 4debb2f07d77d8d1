//! `fairway review …`

mod list;
mod record;
mod request;
mod withdraw;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Request, record, withdraw and list reviews
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Request(request::Args),
    Record(record::Args),
    List(list::Args),
    Withdraw(withdraw::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Request(args) => args.run(ctx),
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Withdraw(args) => args.run(ctx),
        }
    }
}
