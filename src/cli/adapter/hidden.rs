//! `fairway adapter hidden`

use std::ffi::OsString;

use anyhow::Result;

use crate::{
    actions::backend::plumbing::seat,
    cli::{context::Context, exit::Exit},
    os::terminal::Size,
};

/// Run a command in a terminal that nobody sees, until it ends
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The terminal's height, in cells
    rows: u16,
    /// The terminal's width, in cells
    cols: u16,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        seat::hidden(&ctx.env, Size { rows: self.rows, cols: self.cols }, &self.words)?;
        Ok(0)
    }
}
