//! `fairway exec gc`

use anyhow::Result;

use crate::{
    actions::exec::gc,
    cli::{context::Context, exit::Exit},
};

/// Forget runs that ended long ago or are too many, as [exec] keep_for, keep_runs and keep_bytes say
///
/// It happens by itself now and then.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only say which
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&gc::gc(&ctx.app()?, self.dry_run)?)
    }
}
