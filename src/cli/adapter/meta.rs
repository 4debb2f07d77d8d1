//! `fairway adapter meta …`

use anyhow::Result;
use clap::Subcommand;

use crate::{
    actions::backend::plumbing,
    cli::{Context, Exit},
};

/// What a session's script knows about it
#[derive(Debug, Subcommand)]
pub enum Verb {
    Get(Get),
}

/// Print a value of a session's start environment; nothing when it has none
#[derive(Debug, clap::Args)]
pub struct Get {
    /// The session's name
    name: String,
    /// The value's name
    key: String,
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let Self::Get(Get { name, key }) = self;
        if let Some(value) = plumbing::meta(&ctx.env, &name, &key)? {
            ctx.out.text(&value)?;
        }
        Ok(0)
    }
}
