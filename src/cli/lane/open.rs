//! `fairway lane open`

use anyhow::Result;

use crate::{
    actions::lane::status,
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, lane::LaneStatus},
};

/// Let tasks be claimed in a lane again
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The lane
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&status::set(&ctx.app()?, &self.name, LaneStatus::Open)?)
    }
}
