//! `fairway adapter state`

use std::os::unix::ffi::OsStrExt;

use anyhow::Result;

use crate::{
    actions::backend::place,
    cli::{context::Context, exit::Exit},
};

/// Print the folder where the sessions' folders are
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.out.bytes(&[place::state_folder(&ctx.env)?.as_os_str().as_bytes(), b"\n"].concat())?;
        Ok(0)
    }
}
