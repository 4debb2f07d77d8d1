//! `fairway lane pause`

use anyhow::Result;

use crate::{
    actions::queue::lane::status,
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, lane::LaneStatus},
};

/// Pause a lane: no new claims; existing claims stay
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&status::set(&ctx.app()?, &self.name, LaneStatus::Paused)?)
    }
}
