//! `fairway adapter peek`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print the last lines of a session's transcript, as they are
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// How many; all for 0 or less
    #[arg(default_value_t = 0, allow_negative_numbers = true)]
    lines: i64,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.out.text(&look::peek(&ctx.env, &self.name, self.lines)?)?;
        Ok(0)
    }
}
