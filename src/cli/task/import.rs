//! `fairway task import`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::queue::task::import,
    cli::{context::Context, exit::Exit},
    wire::import::ImportFormat,
};

/// Import tasks from a JSONL, JSON or YAML file
///
/// All or nothing. Reads the output of `fairway task export` and of beads. Existing tasks stay as they are, and removed ones
/// stay removed. Claimed tasks arrive as todo.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File; - reads stdin
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Write nothing; report what the import would do
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let form = self.file.extension().and_then(|ending| ImportFormat::from_extension(&ending.to_string_lossy()));
        let text = ctx.input("the file", &self.file)?;
        ctx.answer(&import::import(&ctx.app()?, &text, form, self.dry_run)?)
    }
}
