//! `fairway adapter deliver`

use anyhow::Result;

use crate::{
    adapters::plumbing::commands::control_socket,
    cli::{Context, Exit},
};

/// Type the text on stdin into a session that `adapter run --record` runs, and submit it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        control_socket::submit_text(&ctx.env, &self.name, std::io::stdin().lock())?;
        Ok(0)
    }
}
