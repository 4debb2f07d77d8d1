//! `fairway adapter install`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    adapters::list,
    cli::{context::Context, exit::Exit},
};

/// Write the built-in backend scripts to a directory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory
    dir: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&list::install(&ctx.env, &self.dir)?)
    }
}
