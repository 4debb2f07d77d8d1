//! `fairway handoff decline`

use anyhow::Result;

use crate::{
    actions::queue::handoff,
    cli::{context::Context, exit::Exit},
};

/// Decline a handoff
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&handoff::decline(&ctx.app()?, self.id, &self.reason)?)
    }
}
