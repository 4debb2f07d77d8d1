//! `fairway outbox withdraw`

use anyhow::Result;

use crate::{
    actions::mail::outbox,
    cli::{context::Context, exit::Exit, force::ForceArgs},
};

/// Withdraw an unacknowledged message
#[derive(Debug, clap::Args)]
#[command(mut_arg("force", |arg| arg.help("Override the sender; needs --reason")))]
pub struct Args {
    /// Message number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&outbox::withdraw(&ctx.app()?, self.id, self.force.reason().as_ref())?)
    }
}
