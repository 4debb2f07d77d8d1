//! `fairway session peek`

use anyhow::Result;

use crate::{
    actions::sessions::control::peek,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::escape_controls,
};

/// Print the last lines of a session's terminal
///
/// After the session's end its last screen is shown, from the end of its transcript. Secrets are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Number of lines; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 40)]
    lines: u32,
    /// Keep control sequences, made visible
    #[arg(long)]
    raw: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let peek = peek::peek(&ctx.app()?, &self.id, self.lines, self.raw)?;
        if let Some(note) = &peek.note {
            ctx.out.note(&escape_controls(note));
        }
        ctx.show(&peek, || vec![peek.session_id.clone()], || escape_controls(&peek.text))
    }
}
