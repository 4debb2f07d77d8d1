//! `fairway explain session`

use anyhow::Result;

use super::words;
use crate::{
    actions::explain,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Tell why a session stands as it does, what can be seen of it, and what reconcile would make of that
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let view = explain::session(&ctx.app()?, &self.id)?;
        ctx.show(&view, || vec![view.id.clone()], || words(&view, ctx.out.width))
    }
}
