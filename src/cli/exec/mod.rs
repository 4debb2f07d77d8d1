//! `fairway exec …`

mod call;
mod format;
mod gc;
mod kill;
mod list;
mod log;
mod poll;
mod rm;
mod send_keys;
mod spawn;
mod stream_printer;
mod supervise;
mod wait;
mod worker;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Run and manage background jobs
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Spawn(spawn::Args),
    Poll(poll::Args),
    Log(log::Args),
    Wait(wait::Args),
    SendKeys(send_keys::Args),
    Kill(kill::Args),
    List(list::Args),
    Rm(rm::Args),
    Gc(gc::Args),
    Call(call::Args),
    Worker(worker::Args),
    #[command(hide = true)]
    Supervise(supervise::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Spawn(args) => args.run(ctx),
            Self::Poll(args) => args.run(ctx),
            Self::Log(args) => args.run(ctx),
            Self::Wait(args) => args.run(ctx),
            Self::SendKeys(args) => args.run(ctx),
            Self::Kill(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Rm(args) => args.run(ctx),
            Self::Gc(args) => args.run(ctx),
            Self::Call(args) => args.run(ctx),
            Self::Worker(args) => args.run(ctx),
            Self::Supervise(args) => args.run(ctx),
        }
    }

    /// Whether it speaks JSON whatever the flags say.
    pub(super) const fn is_json(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}
