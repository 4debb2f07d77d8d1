//! `fairway exec rm`

use anyhow::Result;

use crate::{
    actions::exec::rm,
    cli::{context::Context, exit::Exit},
};

/// Forget runs that have ended, with all that they printed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The runs: ids, or the short forms that are shown
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&rm::rm(&ctx.app()?, &self.runs)?)
    }
}
