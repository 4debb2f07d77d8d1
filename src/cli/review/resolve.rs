//! `fairway review resolve`

use anyhow::Result;

use crate::{
    actions::queue::review::comments,
    cli::{context::Context, exit::Exit, force::ForceArgs},
};

/// Resolve your comment on a line
#[derive(Debug, clap::Args)]
#[command(mut_arg("force", |arg| arg.help("Resolve the comment of another reviewer; needs --reason")))]
pub struct Args {
    /// Comment number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&comments::resolve(&ctx.app()?, self.id, self.force.reason().as_ref())?)
    }
}
