//! `fairway sandbox forward`, which stands between bubblewrap and a program whose network is the proxy.

use std::ffi::OsString;

use anyhow::{Context as _, Result};

use crate::{
    actions::sessions::sandbox::{forward, run::Finished},
    cli::{context::Context, exit::Exit},
};

/// Run a program with the sandbox's proxy on the loopback
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let exit = forward::run(&self.words, ctx.env.vars(), &ctx.env.cwd);
        let exit =
            exit.with_context(|| format!("{} cannot be run", self.words.join(" ".as_ref()).to_string_lossy()))?;
        Ok(super::run::exit(ctx, &Finished { exit, notes: Vec::new() }))
    }
}
