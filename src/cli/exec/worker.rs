//! `fairway exec worker`

use anyhow::Result;

use crate::{
    actions::exec::worker,
    cli::{context::Context, exit::Exit},
};

/// Begin queued runs and settle those whose supervisor died, until TERM or INT
///
/// Nobody needs it: whoever ends a run begins the next one, and while something is queued a process waits that does. It is
/// for those who like one service to look at.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// End once nothing is queued
    #[arg(long, hide = true)]
    until_empty: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&worker::worker(&ctx.app()?, self.until_empty)?)
    }
}
