//! `fairway adapter socket`

use anyhow::Result;

use crate::{
    adapters::plumbing::commands::paths,
    cli::{Context, Exit},
};

/// Print where this state folder's private server of a program listens
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program
    program: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.out.text(&format!("{}\n", paths::socket_path(&ctx.env, &self.program)?.display()))?;
        Ok(0)
    }
}
