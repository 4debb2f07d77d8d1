//! `fairway adapter state`

use std::os::unix::ffi::OsStrExt;

use anyhow::Result;

use crate::{
    adapters::plumbing::commands::paths,
    cli::{Context, Exit},
};

/// Print the folder where the sessions' folders are
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.out.bytes(&[paths::state_dir(&ctx.env)?.as_os_str().as_bytes(), b"\n"].concat())?;
        Ok(0)
    }
}
