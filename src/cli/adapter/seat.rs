//! `fairway adapter seat`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::seat,
    adapters::plumbing::Neighbours,
    cli::{context::Context, exit::Exit},
};

/// Print where a session's own multiplexer server listens, a line each: the name that it knows the session by, the mark in
/// its environment (`NAME=value`), and the folder of its sockets, which is made
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
        let seat = seat::seat(&ctx.env, &self.program, &self.name, neighbours)?;
        ctx.out.line(&format!("{}\n{}\n{}", seat.name, seat.mark, seat.folder.display()))?;
        Ok(0)
    }
}
