//! `fairway lane pause`

use anyhow::Result;

use crate::{
    actions::lane::status,
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, lane::LaneStatus},
};

/// Let nobody claim in a lane for now; what is held in it stays held
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The lane
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&status::set(&ctx.app()?, &self.name, LaneStatus::Paused)?)
    }
}
