//! `fairway exec gc`

use anyhow::Result;

use crate::{
    actions::jobs::gc,
    cli::{context::Context, exit::Exit},
};

/// Delete old finished jobs, as [exec] keep_* configures
///
/// Fairway does this by itself from time to time.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the jobs and delete nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&gc::gc(&ctx.app()?, self.dry_run)?)
    }
}
