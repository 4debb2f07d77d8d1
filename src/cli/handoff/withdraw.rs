//! `fairway handoff withdraw`

use anyhow::Result;

use crate::{
    actions::queue::handoff,
    cli::{context::Context, exit::Exit, force::ForceArgs},
};

/// Withdraw a handoff that you created
#[derive(Debug, clap::Args)]
#[command(mut_arg("force", |arg| arg.help("Override the creator; needs --reason")))]
pub struct Args {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&handoff::withdraw(&ctx.app()?, self.id, self.force.reason().as_ref())?)
    }
}
