//! `fairway session …`

mod end;
mod heartbeat;
mod list;
mod reconcile;
mod show;
mod status;
mod upsert;

use anyhow::Result;
use clap::Subcommand;

use super::{Context, Exit};

/// Register, look at and settle sessions
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Upsert(Box<upsert::Args>),
    List(list::Args),
    Show(show::Args),
    Status(status::Args),
    Heartbeat(heartbeat::Args),
    End(end::Args),
    Reconcile(reconcile::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Upsert(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Status(args) => args.run(ctx),
            Self::Heartbeat(args) => args.run(ctx),
            Self::End(args) => args.run(ctx),
            Self::Reconcile(args) => args.run(ctx),
        }
    }
}
