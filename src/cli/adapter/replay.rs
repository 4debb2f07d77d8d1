//! `fairway adapter replay`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print what the terminal of a session that `adapter run --record` runs shows, and has shown, from its transcript
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// How many lines; all for 0 or less
    #[arg(default_value_t = 0, allow_negative_numbers = true)]
    lines: i64,
    /// Print nothing, but forget what was scrolled off the screen
    #[arg(long, conflicts_with = "lines")]
    clear: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.clear {
            look::clear_scrollback(&ctx.env, &self.name)?;
        } else {
            ctx.out.text(&look::shown(&ctx.env, &self.name, self.lines)?)?;
        }
        Ok(0)
    }
}
