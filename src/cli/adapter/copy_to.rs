//! `fairway adapter copy-to`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::backend::plumbing::start,
    cli::{context::Context, exit::Exit},
    render::safe_line,
};

/// Copy a file, or what is in a folder, into the directory where a session's program started
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// What is copied
    source: PathBuf,
    /// Where to, below the directory
    #[arg(default_value = "")]
    destination: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut warn = |why: &str| ctx.out.complain(&safe_line(why));
        start::copy_to(&ctx.env, &self.name, &self.source, &self.destination, &mut warn)?;
        Ok(0)
    }
}
