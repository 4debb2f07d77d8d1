//! `fairway trust`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{actions::core::trust, render::escape_controls};

/// Trust this project's configuration to run its commands
///
/// Covers .fairway.toml, .fairway/local.toml and every script inside the project that they name, in their present
/// state. A change needs trust again. Read the files first: --show prints them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the files and whether they are trusted; change nothing
    #[arg(long)]
    show: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if self.show {
            let shown = trust::show(&app)?;
            let root = app.project.root.display().to_string();
            return ctx.show(&shown.document, || vec![root], || escape_controls(&shown.text));
        }
        ctx.answer(&trust::trust(&app)?)
    }
}
