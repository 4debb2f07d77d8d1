//! `fairway checkpoint overdue`

use anyhow::Result;

use super::format::table;
use crate::{
    actions::queue::checkpoint,
    cli::{context::Context, exit::Exit},
};

/// List open tasks whose next checkpoint is overdue
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = checkpoint::overdue(&ctx.app()?)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.task.to_string()).collect(),
            || {
                if found.is_empty() {
                    "nothing is overdue\n".into()
                } else {
                    table(&found, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}
