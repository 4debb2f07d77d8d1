//! `fairway session reconcile`

use anyhow::Result;

use crate::{
    actions::session::reconcile,
    cli::{context::Context, exit::Exit},
};

/// Compare the sessions with what runs: mark those that are gone, revive those that are there
///
/// What cannot be told is left alone and reported. Tasks keep status, claimant and epoch. Made for cron: it needs no
/// environment, and while another one is at work it does nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Give the same verdicts and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&reconcile::reconcile(&ctx.app()?, self.dry_run)?)
    }
}
