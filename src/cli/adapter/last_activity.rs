//! `fairway adapter last-activity`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print when a live session last printed something, RFC 3339; nothing when that cannot be told
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if let Some(at) = look::last_activity(&ctx.env, &self.name)? {
            ctx.out.line(&at.to_string())?;
        }
        Ok(0)
    }
}
