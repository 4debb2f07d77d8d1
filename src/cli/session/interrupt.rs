//! `fairway session interrupt`

use anyhow::Result;

use crate::{
    actions::sessions::control::interrupt,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Interrupt a session's program as Ctrl-C would
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&interrupt::interrupt(&ctx.app()?, &self.id)?)
    }
}
