//! `fairway exec worker`

use anyhow::Result;

use crate::{
    actions::jobs::worker,
    cli::{context::Context, exit::Exit},
};

/// Run the job scheduler as a service (optional)
///
/// Jobs are scheduled without it. Use it if you prefer one long-running service. Stops on TERM and INT. A second one waits
/// until the first ends.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Exit once the queues are empty
    #[arg(long, hide = true)]
    until_empty: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&worker::worker(&ctx.app()?, self.until_empty)?)
    }
}
