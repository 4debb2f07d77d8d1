//! `fairway outbox …`

pub(super) mod list;
pub(super) mod withdraw;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};
use crate::domain::Refusal;

/// List and withdraw undelivered messages
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    list: list::Args,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    List(list::Args),
    Withdraw(withdraw::Args),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.verb.is_some() && !self.list.is_bare() {
            // A conflict that the parser looked for would also bar --json here.
            let why = "--to-session, --all and --limit go after list".into();
            return Err(Refusal::Usage { why }.into());
        }
        match self.verb {
            None => self.list.run(ctx),
            Some(Verb::List(args)) => args.run(ctx),
            Some(Verb::Withdraw(args)) => args.run(ctx),
        }
    }
}
