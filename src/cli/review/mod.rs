//! `fairway review …`

mod list;
mod record;
mod request;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Request, record and list reviews
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Request(request::Args),
    Record(record::Args),
    List(list::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Request(args) => args.run(ctx),
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
        }
    }
}
