//! `fairway adapter list`

use anyhow::Result;

use crate::{
    adapters::list,
    cli::{context::Context, exit::Exit},
    render::Table,
};

/// List the built-in and configured backends
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let backends = list::list(&ctx.env, ctx.globals.root.as_deref())?;
        ctx.show(
            &backends,
            || backends.iter().map(|one| one.name.clone()).collect(),
            || {
                let mut table = Table::new(&["name", "source", "script", "about"]);
                for one in &backends {
                    table.row([&one.name, one.source, &one.script, one.about.as_deref().unwrap_or("-")]);
                }
                table.render(ctx.out.width)
            },
        )
    }
}
