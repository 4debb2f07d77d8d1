//! `fairway adapter socket`

use anyhow::Result;

use crate::{
    actions::backend::place,
    cli::{context::Context, exit::Exit},
};

/// Print where this state folder's private server of a program listens
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program
    program: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.out.text(&format!("{}\n", place::socket(&ctx.env, &self.program)?.display()))?;
        Ok(0)
    }
}
