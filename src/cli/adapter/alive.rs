//! `fairway adapter alive`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print whether a session's root process lives: true or false
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.out.line(if look::is_alive(&ctx.env, &self.name)? { "true" } else { "false" })?;
        Ok(0)
    }
}
