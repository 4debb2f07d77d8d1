//! `fairway session interrupt`

use anyhow::Result;

use crate::{
    actions::sessions::control::interrupt,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Interrupt what a session's program does
///
/// The keys of its provider are pressed, such as Escape, unless the session is idle. Without a known provider, it is Ctrl-C. While
/// the program asks whether a directory or hooks are trusted, an interrupt would be an answer, and is refused.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Interrupt even an idle session or a question about trust
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&interrupt::interrupt(&ctx.app()?, &self.id, self.force)?)
    }
}
