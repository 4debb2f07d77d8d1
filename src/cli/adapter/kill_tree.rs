//! `fairway adapter kill-tree`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::tree,
    cli::{context::Context, exit::Exit},
};

/// End a session's whole tree of processes and forget the session
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// Only if it is the calling script that starts it just now: a start that is taken back
    #[arg(long)]
    own_start: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.own_start {
            tree::roll_back(&ctx.env, &self.name)?;
        } else {
            tree::kill_tree(&ctx.env, &self.name)?;
        }
        Ok(0)
    }
}
