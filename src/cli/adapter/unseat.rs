//! `fairway adapter unseat`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::seat,
    cli::{Context, Exit},
};

/// End what is left of a session's own multiplexer server once the session has ended
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The multiplexer
    program: String,
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        seat::unseat(&ctx.env, &self.program, &self.name)?;
        Ok(0)
    }
}
