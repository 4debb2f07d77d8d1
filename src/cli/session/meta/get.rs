//! `fairway session meta get`

use anyhow::Result;

use crate::{
    actions::sessions::control::meta,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::escape_controls,
    wire::SessionMetaView,
};

/// Print a stored value; nothing if it is unset
///
/// Into a pipe the bytes are written unchanged. Keys of the session's environment are answered too.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Key
    key: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (value, note) = meta::get(&ctx.app()?, &self.id, &self.key)?;
        if let Some(note) = note {
            ctx.out.note(&escape_controls(&note));
        }
        let text = String::from_utf8_lossy(&value);
        if ctx.out.json {
            let session_id = self.id.to_string();
            ctx.out.document(&SessionMetaView { session_id, key: self.key, value: text.into_owned() })?;
        } else if ctx.env.terminal.stdout {
            ctx.out.line(&escape_controls(&text))?;
        } else {
            ctx.out.bytes(&value)?;
        }
        Ok(0)
    }
}
