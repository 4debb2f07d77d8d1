//! `fairway adapter find`

use std::os::unix::ffi::OsStrExt;

use anyhow::Result;

use crate::{
    actions::backend::place,
    cli::{context::Context, exit::Exit},
};

/// Print whether a session's root process lives, and on a second line its folder; nothing for one that is not there
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if let Some((is_alive, folder)) = place::find(&ctx.env, &self.name)? {
            let line = [is_alive.to_string().as_bytes(), b"\n", folder.as_os_str().as_bytes(), b"\n"].concat();
            ctx.out.bytes(&line)?;
        }
        Ok(0)
    }
}
