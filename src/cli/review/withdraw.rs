//! `fairway review withdraw`

use anyhow::Result;

use crate::{
    actions::queue::review,
    cli::{context::Context, exit::Exit, force::ForceArgs},
};

/// Withdraw a review request, or your negative verdict
#[derive(Debug, clap::Args)]
#[command(mut_arg("force", |arg| arg.help("Withdraw the review of another actor; needs --reason")))]
pub struct Args {
    /// Review number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&review::withdraw(&ctx.app()?, self.id, self.force.reason().as_ref())?)
    }
}
