//! `fairway session nudge`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::sessions::{control::nudge, prompt},
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Type a text into a session's terminal and submit it
///
/// The text is typed verbatim, minus the sequence that ends a bracketed paste. It is not stored. While the session asks for a
/// permission, the text would be the answer, and is refused. For a text with proof of delivery, use `fairway send`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Text; - reads stdin
    #[arg(required_unless_present_any = ["text_file", "queued"])]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    text_file: Option<PathBuf>,
    /// Type the session's queued messages now
    #[arg(long, conflicts_with_all = ["text", "text_file"])]
    queued: bool,
    /// Type even as the answer to a question
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.bytes("text", self.text, self.text_file.as_deref())?.unwrap_or_default();
        if self.queued {
            return ctx.answer(&prompt::type_queued(&ctx.app()?, &self.id, self.force)?);
        }
        ctx.answer(&nudge::nudge(&ctx.app()?, &self.id, &text, self.force)?)
    }
}
