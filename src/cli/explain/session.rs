//! `fairway explain session`

use anyhow::Result;

use super::format::facts;
use crate::{
    actions::upkeep::explain,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Explain a session's status and what reconcile would do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let view = explain::session(&ctx.app()?, &self.id)?;
        ctx.show(&view, || vec![view.id.clone()], || facts(&view, ctx.out.width))
    }
}
