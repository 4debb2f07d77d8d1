//! `fairway session reconcile`

use anyhow::Result;

use crate::{
    actions::{core::store_safety, upkeep::reconcile},
    cli::{context::Context, exit::Exit},
};

/// Correct session records to match running processes
///
/// Gone sessions become stale or ended, running ones are revived, and unknown ones are only reported. Tasks keep their
/// status, claimant and epoch. Made for cron: it needs no environment, and does nothing while another reconcile runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Report the changes and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let mut answer = reconcile::reconcile(&app, self.dry_run)?;
        if !self.dry_run {
            answer.notes.extend(store_safety::keep_safe(&app));
        }
        ctx.answer(&answer)
    }
}
