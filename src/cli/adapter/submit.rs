//! `fairway adapter submit`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::backend::typing,
    cli::{context::Context, exit::Exit},
};

/// Type the text on stdin into a session and submit it, by its script's `look`, `paste` and `press`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// The script
    script: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        typing::text(&ctx.env, &self.name, &self.script, std::io::stdin().lock())?;
        Ok(0)
    }
}
