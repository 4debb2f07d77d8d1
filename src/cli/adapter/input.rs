//! `fairway adapter input`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::input,
    cli::{context::Context, exit::Exit},
};

/// Hand the text on stdin, and a newline, to the program of a session without a terminal
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        input::input(&ctx.env, &self.name, std::io::stdin().lock())?;
        Ok(0)
    }
}
