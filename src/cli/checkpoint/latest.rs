//! `fairway checkpoint latest`

use anyhow::Result;

use super::format::details;
use crate::{
    actions::queue::checkpoint,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Show a task's latest checkpoint
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Only checkpoints that an agent or a person wrote
    #[arg(long)]
    written: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let latest = checkpoint::latest(&ctx.app()?, &self.task, self.written)?;
        ctx.show(&latest, || vec![latest.id.to_string()], || details(&latest))
    }
}
