//! `fairway restore`

use std::path::PathBuf;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::actions::project::backup;

/// Restore the store from a backup
///
/// The backup is checked first, and the present store is kept beside it. A damaged or missing store can be restored.
/// Every epoch that was given out before becomes invalid, so sessions that worked meanwhile are refused.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Backup file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&backup::restore(&ctx.app()?, &self.file)?)
    }
}
