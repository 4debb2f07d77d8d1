//! `fairway session meta set`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::sessions::control::meta,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Store a value with a session until it ends
#[derive(Debug, clap::Args)]
pub struct Args {
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

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let value = ctx.bytes("value", self.value, self.value_file.as_deref())?.unwrap_or_default();
        ctx.answer(&meta::set(&ctx.app()?, &self.id, &self.key, &value)?)
    }
}
