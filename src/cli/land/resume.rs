//! `fairway land resume`

use anyhow::Result;

use crate::{
    actions::land,
    cli::{context::Context, exit::Exit},
};

/// Let work land again after a pause
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&land::resume(&ctx.app()?)?)
    }
}
