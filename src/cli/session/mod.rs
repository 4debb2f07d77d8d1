//! `fairway session …`

mod attach;
mod end;
mod event;
pub(super) mod first_prompt_args;
mod forget;
mod heartbeat;
mod interrupt;
pub(super) mod launch;
pub(super) mod list;
mod meta;
mod nudge;
mod peek;
mod reconcile;
mod relaunch;
mod show;
mod status;
mod stop;
mod switch;
mod upsert;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Launch, watch and stop agent sessions
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Launch(Box<launch::Args>),
    Relaunch(Box<relaunch::Args>),
    Upsert(Box<upsert::Args>),
    List(list::Args),
    Show(show::Args),
    Status(status::Args),
    Heartbeat(heartbeat::Args),
    End(end::Args),
    Forget(forget::Args),
    Event(Box<event::Args>),
    Reconcile(reconcile::Args),
    Attach(attach::Args),
    Terminal(switch::TerminalArgs),
    Structured(switch::StructuredArgs),
    Peek(peek::Args),
    Nudge(nudge::Args),
    Interrupt(interrupt::Args),
    Stop(stop::Args),
    #[command(subcommand)]
    Meta(meta::Verb),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Launch(args) => args.run(ctx),
            Self::Relaunch(args) => args.run(ctx),
            Self::Upsert(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Status(args) => args.run(ctx),
            Self::Heartbeat(args) => args.run(ctx),
            Self::End(args) => args.run(ctx),
            Self::Forget(args) => args.run(ctx),
            Self::Event(args) => args.run(ctx),
            Self::Reconcile(args) => args.run(ctx),
            Self::Attach(args) => args.run(ctx),
            Self::Terminal(args) => args.run(ctx),
            Self::Structured(args) => args.run(ctx),
            Self::Peek(args) => args.run(ctx),
            Self::Nudge(args) => args.run(ctx),
            Self::Interrupt(args) => args.run(ctx),
            Self::Stop(args) => args.run(ctx),
            Self::Meta(verb) => verb.run(ctx),
        }
    }
}
