//! `fairway land show`

use anyhow::Result;

use crate::{
    actions::land,
    cli::{context::Context, exit::Exit},
};

/// Show the queue of landing
///
/// What lands now, since when and until when by the durations of earlier landings; what comes then, in its order; the pause; and
/// the checks that passed only when they ran again.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&land::show(&ctx.app()?)?)
    }
}
