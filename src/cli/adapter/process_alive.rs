//! `fairway adapter process-alive`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print whether one of the programs named on stdin, one a line, runs in a session: true or false
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let runs = look::runs_one_of(&ctx.env, &self.name, std::io::stdin().lock())?;
        ctx.out.line(if runs { "true" } else { "false" })?;
        Ok(0)
    }
}
