//! `fairway restore`

use std::path::PathBuf;

use anyhow::Result;

use super::{confirm, context::Context, exit::Exit};
use crate::{
    actions::{core::inside, project::backup},
    render::escape_line,
};

/// Restore the store from a backup
///
/// The backup is checked first, and the present store is kept beside it. A damaged or missing store can be restored.
/// Every epoch that was given out before becomes invalid, so sessions that worked meanwhile are refused. At a terminal, a
/// person is asked. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Backup file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        // A damaged store cannot be read; its place is not kept open.
        inside::refuse(&app.with_fresh_store(), "restore")?;
        let (store, file) = (app.project.store.display(), self.file.display());
        let question = escape_line(&format!("Replace the store {store} with {file}?"));
        confirm::require(ctx, self.yes, &question)?;
        ctx.answer(&backup::restore(&app, &self.file)?)
    }
}
