//! `fairway config show`

use anyhow::Result;

use crate::{
    actions::upkeep::config,
    cli::{context::Context, exit::Exit},
    render::Table,
};

/// Show every setting in force and its source
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let settings = config::show(&ctx.app()?);
        ctx.show(
            &settings,
            || settings.iter().map(|one| one.key.clone()).collect(),
            || {
                let mut table = Table::new(&["key", "value", "source"]);
                for one in &settings {
                    table.row([one.key.as_str(), &one.written, &one.source]);
                }
                table.render(ctx.out.width)
            },
        )
    }
}
