//! `fairway config schema`

use anyhow::Result;

use crate::{
    cli::{context::Context, exit::Exit},
    config,
};

/// Print the JSON Schema of the configuration
///
/// Editors complete and check .fairway.toml by it, when the first line of the file names it:
/// #:schema .fairway/config.schema.json
///
/// `fairway init` writes that file.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let schema = config::schema();
        let text = serde_json::to_string_pretty(&schema)?;
        ctx.show(&schema, || config::KEYS.iter().map(config::Key::path).collect(), || format!("{text}\n"))
    }
}
