//! `fairway backup`

use std::path::PathBuf;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use fairway_actions::upkeep::backup;

/// Back up the store to a file while other commands run
///
/// The copy is checked before the file appears under its name.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway backup store.db")]
pub struct Args {
    /// File to create
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&backup::backup(&ctx.app()?, &self.file, self.force)?)
    }
}
