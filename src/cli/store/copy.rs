//! `fairway store copy`

use anyhow::Result;

use super::confirm;
use crate::{
    actions::{core::inside_session, upkeep::store::copy},
    cli::{context::Context, exit::Exit},
    render::escape_line,
};

/// Move the store from its file to a server, or back
///
/// The server is a PostgreSQL database. Copies every table and compares the counts. The store that is left is locked meanwhile, and renamed afterwards:
/// fairway.db.moved, or the schema's name with _moved. Every epoch that was given out before becomes invalid. Then .fairway.toml
/// and .fairway/local.toml name the new place. At a terminal, a person is asked. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address of the server; or sqlite, for the project's file
    ///
    /// Without a password: it comes from PGPASSFILE or .fairway/local.toml.
    #[arg(long, value_name = "URL")]
    to: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        inside_session::refuse(&app.with_fresh_store(), "store copy")?;
        let to = crate::config::masked_url(&self.to);
        confirm::require(ctx, self.yes, &escape_line(&format!("Move the store to {to}?")))?;
        ctx.answer(&copy::copy(&app, &self.to)?)
    }
}
