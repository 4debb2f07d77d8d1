//! `fairway message …`

mod send;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit, inbox, outbox, prompt};

/// Send, read and withdraw messages
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Send(send::Args),
    Prompt(prompt::Args),
    Inbox(inbox::Args),
    List(outbox::list::Args),
    Withdraw(outbox::withdraw::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Send(args) => args.run(ctx),
            Self::Prompt(args) => args.run(ctx),
            Self::Inbox(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Withdraw(args) => args.run(ctx),
        }
    }
}
