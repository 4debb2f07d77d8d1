//! `fairway trust`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{actions::project::trust, render::safe};

/// Let the programs that this project's configuration names be run here
///
/// Covers .fairway.toml, .fairway/local.toml and every script that they name inside the project, as they are now: a change
/// asks again. Look at them first; --show does.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show what would be trusted, and whether it is; change nothing
    #[arg(long)]
    show: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if self.show {
            let shown = trust::show(&app)?;
            let root = app.project.root.display().to_string();
            return ctx.show(&shown.document, || vec![root], || safe(&shown.words));
        }
        ctx.answer(&trust::trust(&app)?)
    }
}
