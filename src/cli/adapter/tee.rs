//! `fairway adapter tee`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::backend::plumbing::tree,
    adapters::plumbing::transcript::LIMIT,
    cli::{context::Context, exit::Exit},
};

/// Copy stdin to a transcript that only you can read and that starts anew at a size
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The transcript
    file: PathBuf,
    /// The size, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = LIMIT)]
    limit: u64,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        tree::tee(&ctx.env.cwd.join(&self.file), self.limit, std::io::stdin().lock())?;
        Ok(0)
    }
}
