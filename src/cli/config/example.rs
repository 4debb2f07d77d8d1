//! `fairway config example`

use anyhow::Result;

use crate::{
    cli::{context::Context, exit::Exit},
    config,
    wire::ConfigExampleView,
};

/// Print an example with every key and its default
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = config::example();
        ctx.show(
            &ConfigExampleView { example: text.clone() },
            || config::KEYS.iter().map(config::Key::path).collect(),
            || text.clone(),
        )
    }
}
