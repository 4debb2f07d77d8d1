//! `fairway adapter kill-tree`

use anyhow::Result;

use crate::{
    actions::backend::plumbing,
    cli::{Context, Exit},
};

/// End a session's whole tree of processes and forget the session
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        plumbing::kill_tree(&ctx.env, &self.name)?;
        Ok(0)
    }
}
