//! `fairway restore`

use std::path::PathBuf;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::actions::project::backup;

/// Put a backup in the place of the store
///
/// The backup is checked before anything is touched, and the store that was there is kept beside it. Works when the store is
/// damaged or gone. No epoch that was given out before is valid afterwards: whoever worked meanwhile is told so.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&backup::restore(&ctx.app()?, &self.file)?)
    }
}
