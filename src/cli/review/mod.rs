//! `fairway review …`

mod card;
mod comment;
mod comments;
mod list;
mod next;
mod record;
mod request;
mod resolve;
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
    Comment(comment::Args),
    Comments(comments::Args),
    Resolve(resolve::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Next(args) => args.run(ctx),
            Self::Request(args) => args.run(ctx),
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Withdraw(args) => args.run(ctx),
            Self::Comment(args) => args.run(ctx),
            Self::Comments(args) => args.run(ctx),
            Self::Resolve(args) => args.run(ctx),
        }
    }
}
