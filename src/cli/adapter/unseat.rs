//! `fairway adapter unseat`

use anyhow::Result;

use crate::{
    adapters::plumbing::{SocketDir, commands::multiplexer_server},
    cli::{Context, Exit},
};

/// End what is left of a session's own multiplexer server once the session has ended
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its sockets have a folder to themselves
    #[arg(long)]
    alone: bool,
    /// The multiplexer
    program: String,
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let neighbours = if self.alone { SocketDir::Private } else { SocketDir::Shared };
        multiplexer_server::end_server(&ctx.env, &self.program, &self.name, neighbours)?;
        Ok(0)
    }
}
