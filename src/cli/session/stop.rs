//! `fairway session stop`

use anyhow::Result;

use crate::{
    actions::sessions::control::stop,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Stop a session and all its processes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&stop::stop(&ctx.app()?, &self.id)?)
    }
}
