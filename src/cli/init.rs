//! `fairway init`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use fairway_actions::upkeep;

/// Create a project: configuration, store, agent contract
///
/// A repeat is harmless: existing files stay as they are. `fairway setup` does this and the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway init
fairway init --store postgres://fairway@db.example/team")]
pub struct Args {
    /// Begin a new store where one that was here before is gone
    ///
    /// Ids of tasks go on where the other store's ended.
    #[arg(long)]
    new: bool,
    /// Keep the store on this server, for several machines
    ///
    /// The address of a PostgreSQL database. The project's schema is created there, or brought up to date. .fairway.toml gets the engine, and .fairway/local.toml,
    /// which is not committed, the address. A password comes from PGPASSFILE, FAIRWAY_STORE_URL or .fairway/local.toml.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let answer = upkeep::init::init(&ctx.env, ctx.globals.root.as_deref(), self.new, self.store.as_deref())?;
        ctx.answer(&answer)
    }
}
