//! `fairway land pause`

use anyhow::Result;

use crate::{
    actions::land,
    cli::{context::Context, exit::Exit},
};

/// Pause landing on this host
///
/// A landing at work finishes its step; then nothing lands until `fairway land resume`. The board shows it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Why
    #[arg(value_name = "REASON")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&land::pause(&ctx.app()?, self.reason)?)
    }
}
