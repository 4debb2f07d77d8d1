//! `fairway exec supervise`

use anyhow::Result;

use crate::{
    actions::exec::supervise,
    cli::{context::Context, exit::Exit},
};

/// Look after a run from its beginning to its end; started by whoever begins it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run
    run: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        supervise::supervise(&ctx.app()?, &self.run)?;
        Ok(0)
    }
}
