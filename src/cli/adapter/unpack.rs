//! `fairway adapter unpack`

use anyhow::Result;

use crate::{
    actions::backend::plumbing,
    cli::{Context, Exit},
};

/// Keep the start configuration on stdin for the program that is to be run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        plumbing::unpack(&ctx.env, &self.name, std::io::stdin().lock())?;
        Ok(0)
    }
}
