//! `fairway exec rm`

use anyhow::Result;

use crate::{
    actions::jobs::rm,
    cli::{context::Context, exit::Exit},
};

/// Delete finished jobs and their output
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job ids or their short forms
    #[arg(required = true, value_name = "JOB")]
    runs: Vec<String>,
    /// Give up jobs of a host or container that is gone
    ///
    /// They are recorded as lost. Jobs of this host are settled by session reconcile. While that host is heard of, it needs --reason.
    #[arg(long)]
    force: bool,
    /// Reason to give up jobs, kept with them
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&rm::rm(&ctx.app()?, &self.runs, self.force, self.reason.as_deref())?)
    }
}
