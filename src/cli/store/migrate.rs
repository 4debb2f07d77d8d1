//! `fairway store migrate`

use anyhow::Result;

use crate::{
    actions::upkeep::store,
    cli::{context::Context, exit::Exit},
};

/// Bring the schema of the store up to date
///
/// A store in a file is brought up to date whenever it is opened. The one on a server waits for this command: programs of an
/// older version are refused afterwards, on every host.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&store::migrate(&ctx.app()?)?)
    }
}
