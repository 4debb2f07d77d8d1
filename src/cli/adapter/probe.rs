//! `fairway adapter probe`

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use crate::{
    adapters::plumbing::probe::{self, Wish},
    cli::{context::Context, exit::Exit},
};

/// Be the program of a session that is checked: write down in a folder what it is started with and what reaches it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder
    folder: PathBuf,
    /// Print so many numbered lines first
    #[arg(long, value_name = "N", default_value_t = 0)]
    lines: u32,
    /// Print this once it takes input
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Words to write down
    #[arg(last = true)]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let wish = Wish { lines: self.lines, prompt: self.prompt, words: self.words };
        probe::run(&ctx.env, &ctx.env.cwd.join(&self.folder), &wish)?;
        Ok(0)
    }
}
