//! `fairway session forget`

use anyhow::Result;

use crate::{
    actions::sessions::control::forget,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Give up a session whose host or container is gone
///
/// For a session of another host or container that will not come back: it is recorded as failed. Nothing of it is stopped, and its
/// claims stay. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&forget::forget(&ctx.app()?, &self.id)?)
    }
}
