//! `fairway adapter bare`

use std::ffi::OsString;

use anyhow::Result;

use crate::{
    actions::backend::server,
    cli::{context::Context, exit::Exit},
};

/// Become a command that starts a server: with no descriptor of the caller and nothing of a session around it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        server::bare(&ctx.env, &self.words)?;
        Ok(0)
    }
}
