//! `fairway checkpoint show`

use anyhow::Result;

use super::format::details;
use crate::{
    actions::queue::checkpoint,
    cli::{context::Context, exit::Exit},
};

/// Show a checkpoint
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Checkpoint id
    id: i64,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = checkpoint::show(&ctx.app()?, self.id)?;
        ctx.show(&found, || vec![found.id.to_string()], || details(&found))
    }
}
