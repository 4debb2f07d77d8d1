//! `fairway checkpoint list`

use anyhow::Result;

use super::format::table;
use crate::{
    actions::queue::checkpoint,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// List a task's checkpoints, oldest first
///
/// A checkpoint that no agent and no person wrote names its origin: launch, reconcile, hook or provider.
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
        let found = checkpoint::list(&ctx.app()?, &self.task, self.written)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                if found.is_empty() {
                    "no checkpoints\n".into()
                } else {
                    table(&found, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}
