//! `fairway explain …`

mod format;
mod session;
mod task;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};
use crate::{actions::upkeep::explain, domain::Refusal};

/// Explain the state of a task or session
///
/// An id that is both a task and a session needs the word task or session before it.
#[derive(Debug, clap::Args)]
#[command(subcommand_negates_reqs = true)]
pub struct Args {
    /// Id of a task or session
    #[arg(required = true)]
    id: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Task(task::Args),
    Session(session::Args),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match (self.verb, self.id) {
            (Some(Verb::Task(args)), None) => args.run(ctx),
            (Some(Verb::Session(args)), None) => args.run(ctx),
            (None, Some(id)) => {
                let view = explain::explain(&ctx.app()?, &id)?;
                ctx.show(&view, || vec![view.id.clone()], || format::facts(&view, ctx.out.width))
            }
            _ => {
                Err(Refusal::Usage { why: "give one id: explain ID, explain task ID or explain session ID".into() }
                    .into())
            }
        }
    }
}
