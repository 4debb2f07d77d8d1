//! `fairway adapter …`: the scripts, and the plumbing that they call. None of it needs a project.

mod alive;
mod ask;
mod bare;
mod check;
mod copy_to;
mod deliver;
mod fact;
mod find;
mod follow;
mod hidden;
mod input;
mod install;
mod interrupt;
mod keys;
mod kill_tree;
mod last_activity;
mod list;
mod list_running;
mod meta;
mod peek;
mod press;
mod probe;
mod process_alive;
mod replay;
mod run;
mod seat;
mod settle;
mod socket;
mod state;
mod submit;
mod tee;
mod unpack;
mod unseat;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Look at the scripts that start sessions
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    List(list::Args),
    Install(install::Args),
    Check(check::Args),
    #[command(hide = true)]
    Unpack(unpack::Args),
    #[command(hide = true)]
    Run(run::Args),
    #[command(hide = true)]
    Settle(settle::Args),
    #[command(hide = true)]
    Fact(fact::Args),
    #[command(hide = true)]
    Tee(tee::Args),
    #[command(hide = true)]
    KillTree(kill_tree::Args),
    #[command(hide = true)]
    Alive(alive::Args),
    #[command(hide = true)]
    ProcessAlive(process_alive::Args),
    #[command(hide = true)]
    ListRunning(list_running::Args),
    #[command(hide = true)]
    LastActivity(last_activity::Args),
    #[command(hide = true)]
    Peek(peek::Args),
    #[command(hide = true)]
    Find(find::Args),
    #[command(hide = true)]
    Socket(socket::Args),
    #[command(hide = true)]
    State(state::Args),
    #[command(hide = true)]
    Ask(ask::Args),
    #[command(hide = true)]
    Bare(bare::Args),
    #[command(hide = true)]
    Submit(submit::Args),
    #[command(hide = true)]
    Input(input::Args),
    #[command(hide = true)]
    CopyTo(copy_to::Args),
    #[command(hide = true)]
    Press(press::Args),
    #[command(hide = true)]
    Interrupt(interrupt::Args),
    #[command(hide = true)]
    Follow(follow::Args),
    #[command(hide = true)]
    Deliver(deliver::Args),
    #[command(hide = true)]
    Hidden(hidden::Args),
    #[command(hide = true)]
    Keys(keys::Args),
    #[command(hide = true)]
    Replay(replay::Args),
    #[command(hide = true)]
    Seat(seat::Args),
    #[command(hide = true)]
    Unseat(unseat::Args),
    #[command(hide = true, subcommand)]
    Meta(meta::Verb),
    #[command(hide = true)]
    Probe(probe::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Install(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Unpack(args) => args.run(ctx),
            Self::Run(args) => args.run(ctx),
            Self::Tee(args) => args.run(ctx),
            Self::KillTree(args) => args.run(ctx),
            Self::Alive(args) => args.run(ctx),
            Self::Settle(args) => args.run(ctx),
            Self::Fact(args) => args.run(ctx),
            Self::ProcessAlive(args) => args.run(ctx),
            Self::ListRunning(args) => args.run(ctx),
            Self::LastActivity(args) => args.run(ctx),
            Self::Peek(args) => args.run(ctx),
            Self::Find(args) => args.run(ctx),
            Self::Socket(args) => args.run(ctx),
            Self::State(args) => args.run(ctx),
            Self::Ask(args) => args.run(ctx),
            Self::Bare(args) => args.run(ctx),
            Self::Submit(args) => args.run(ctx),
            Self::Input(args) => args.run(ctx),
            Self::CopyTo(args) => args.run(ctx),
            Self::Press(args) => args.run(ctx),
            Self::Interrupt(args) => args.run(ctx),
            Self::Follow(args) => args.run(ctx),
            Self::Deliver(args) => args.run(ctx),
            Self::Hidden(args) => args.run(ctx),
            Self::Keys(args) => args.run(ctx),
            Self::Replay(args) => args.run(ctx),
            Self::Seat(args) => args.run(ctx),
            Self::Unseat(args) => args.run(ctx),
            Self::Meta(verb) => verb.run(ctx),
            Self::Probe(args) => args.run(ctx),
        }
    }
}
