//! `fairway session nudge`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::sessions::control::nudge,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Type a text into a session's terminal and submit it
///
/// The text is typed verbatim, minus the sequence that ends a bracketed paste. It is not stored.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Text; - reads stdin
    #[arg(required_unless_present = "text_file")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    text_file: Option<PathBuf>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.bytes("text", self.text, self.text_file.as_deref())?.unwrap_or_default();
        ctx.answer(&nudge::nudge(&ctx.app()?, &self.id, &text)?)
    }
}
