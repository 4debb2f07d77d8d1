//! `fairway session meta rm`

use anyhow::Result;

use crate::{
    actions::sessions::control::meta,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Delete a stored value
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Key
    key: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&meta::remove(&ctx.app()?, &self.id, &self.key)?)
    }
}
