//! `fairway explain task`

use anyhow::Result;

use super::format::facts;
use crate::{
    actions::upkeep::explain,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Explain a task's status, blockers and claim
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let view = explain::task(&ctx.app()?, &self.id)?;
        ctx.show(&view, || vec![view.id.clone()], || facts(&view, ctx.out.width))
    }
}
