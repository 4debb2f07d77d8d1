//! `fairway explain …`

mod format;
mod session;
mod task;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

/// Explain the state of a task or session
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Task(task::Args),
    Session(session::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Task(args) => args.run(ctx),
            Self::Session(args) => args.run(ctx),
        }
    }
}
