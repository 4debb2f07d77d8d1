//! `fairway adapter deliver`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::door,
    cli::{context::Context, exit::Exit},
};

/// Type the text on stdin into a session that `adapter run --record` runs, and submit it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        door::deliver(&ctx.env, &self.name, std::io::stdin().lock())?;
        Ok(0)
    }
}
