//! `fairway session meta …`

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::sessions::control::meta;
use fairway_core::domain::SessionId;
use fairway_core::render::escape_controls;
use fairway_core::wire::SessionMetaView;

/// Manage values that a session's backend stores
#[derive(Debug, Subcommand)]
#[command(after_help = "fairway session meta set s1 ticket 812")]
#[command(defer = true)]
pub enum Verb {
    Set(SetArgs),
    Get(GetArgs),
    Rm(RmArgs),
}

impl Verb {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Set(args) => args.run(ctx),
            Self::Get(args) => args.run(ctx),
            Self::Rm(args) => ctx.answer(&meta::remove(&ctx.app()?, &args.id, &args.key)?),
        }
    }
}

/// Store a value with a session until it ends
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session meta set s1 ticket 812")]
pub struct SetArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Key
    key: String,
    /// Value; - reads stdin, byte for byte
    #[arg(required_unless_present = "value_file")]
    value: Option<String>,
    /// Read the value from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    value_file: Option<PathBuf>,
}

impl SetArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let value = ctx.bytes("value", self.value, self.value_file.as_deref())?.unwrap_or_default();
        ctx.answer(&meta::set(&ctx.app()?, &self.id, &self.key, &value)?)
    }
}

/// Print a stored value; nothing if it is unset
///
/// Into a pipe the bytes are written unchanged. Keys of the session's environment are answered too.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session meta get s1 ticket")]
pub struct GetArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Key
    key: String,
}

impl GetArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
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

/// Delete a stored value
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session meta rm s1 ticket")]
pub struct RmArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Key
    key: String,
}
