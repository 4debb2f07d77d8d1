//! `fairway trust`

use anyhow::Result;

use super::confirm;
use super::context::Context;
use super::exit::Exit;
use fairway_actions::core::{inside_session, trust};
use fairway_core::render::escape_controls;

/// Trust this project's configuration to run its commands
///
/// Covers .fairway.toml, .fairway/local.toml and every script inside the project that they name, in their present state. After
/// a change the last trusted text stays in force until you trust again. Read the files first: --show prints them. Refused
/// inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway trust --show
fairway trust")]
pub struct Args {
    /// Print the files and whether they are trusted; change nothing
    #[arg(long)]
    show: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with = "show")]
    yes: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app_without_note(ctx.actor()?)?;
        if self.show {
            let shown = trust::show(&app)?;
            let root = app.project.root.display().to_string();
            return ctx.show(&shown.document, || vec![root], || escape_controls(&shown.text));
        }
        inside_session::refuse(&app, "trust")?;
        if confirm::can_ask(ctx, self.yes) {
            let shown = trust::show(&app)?;
            if !shown.is_known {
                ctx.out.write_stderr(&escape_controls(&shown.text));
                confirm::require(ctx, self.yes, "Trust this?")?;
            }
        }
        ctx.answer(&trust::trust(&app)?)
    }
}
