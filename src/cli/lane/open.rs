//! `fairway lane open`

use anyhow::Result;

use crate::{
    actions::queue::lane::status,
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, lane::LaneStatus},
};

/// Open a paused or closed lane for claims again
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&status::set(&ctx.app()?, &self.name, LaneStatus::Open)?)
    }
}
