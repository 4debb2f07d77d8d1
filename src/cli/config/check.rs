//! `fairway config check`

use anyhow::Result;

use crate::{
    actions::project::config,
    cli::{context::Context, exit::Exit},
    render::escape_line,
};

/// Check the configuration; name the wrong file and key
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        // Building the `App` reads every layer and checks every key and value.
        let checked = config::check(&ctx.app()?);
        let files = if checked.files.is_empty() { "defaults only".to_owned() } else { checked.files.join(", ") };
        ctx.show(&checked, Vec::new, || format!("the configuration is good: {}\n", escape_line(&files)))
    }
}
