//! `fairway session meta get`

use anyhow::Result;
use serde_json::json;

use crate::{
    actions::session::meta,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::safe,
};

/// Print a value that a session keeps, byte by byte where no terminal reads it; nothing when it is unset
///
/// Also answers the environment that the session was started with.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// The key
    key: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let value = meta::get(&ctx.app()?, &self.id, &self.key)?;
        let text = String::from_utf8_lossy(&value);
        if ctx.out.json {
            ctx.out.document(&json!({ "session_id": self.id.as_str(), "key": self.key, "value": text }))?;
        } else if ctx.env.terminal.stdout {
            ctx.out.line(&safe(&text))?;
        } else {
            ctx.out.bytes(&value)?;
        }
        Ok(0)
    }
}
