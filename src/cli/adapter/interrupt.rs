//! `fairway adapter interrupt`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::input,
    cli::{context::Context, exit::Exit},
};

/// Interrupt what a session's program does, as Ctrl-C would
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        input::interrupt(&ctx.env, &self.name)?;
        Ok(0)
    }
}
