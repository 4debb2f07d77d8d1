//! `fairway exec supervise`

use anyhow::Result;

use crate::{
    actions::jobs::supervise,
    cli::{context::Context, exit::Exit},
};

/// Supervise one job; started by Fairway itself
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job id
    run: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        supervise::supervise(&ctx.app()?, &self.run)?;
        Ok(0)
    }
}
