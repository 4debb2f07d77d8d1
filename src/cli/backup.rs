//! `fairway backup`

use std::path::PathBuf;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::actions::project::backup;

/// Write the store to a file, whole and checked, while others go on working
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to make
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&backup::backup(&ctx.app()?, &self.file, self.force)?)
    }
}
