//! `fairway adapter unseat`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::seat,
    adapters::plumbing::Neighbours,
    cli::{context::Context, exit::Exit},
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
        let neighbours = if self.alone { Neighbours::None } else { Neighbours::Some };
        seat::unseat(&ctx.env, &self.program, &self.name, neighbours)?;
        Ok(0)
    }
}
