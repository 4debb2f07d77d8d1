//! `fairway task import`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::task::import,
    cli::{context::Context, exit::Exit},
    wire::import::Form,
};

/// Bring in tasks from a file, all of them or none
///
/// Takes JSON lines, JSON and YAML: what `fairway task export` writes, and what beads exports. Tasks that are here already
/// stay as they are. Nothing is claimed: what was held comes in as todo.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file; - reads stdin
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let form = self.file.extension().and_then(|ending| Form::of_ending(&ending.to_string_lossy()));
        let text = ctx.input("the file", &self.file)?;
        ctx.answer(&import::import(&ctx.app()?, &text, form)?)
    }
}
