//! `fairway init`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::actions::project;

/// Create a project: configuration, store, agent contract
///
/// A repeat is harmless: existing files stay as they are. `fairway setup` does this and the rest.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Begin a new store where one that was here before is gone
    ///
    /// Ids of tasks go on where the other store's ended.
    #[arg(long)]
    new: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let answer = project::init::init(&ctx.env, ctx.globals.root.as_deref(), self.new)?;
        ctx.answer(&answer)
    }
}
