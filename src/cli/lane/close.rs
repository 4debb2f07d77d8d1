//! `fairway lane close`

use anyhow::Result;

use crate::{
    actions::queue::lane::{close, status},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, lane::LaneStatus},
};

/// Close a lane; branch and worktree stay
///
/// No more tasks can be claimed in it. With --rm-worktree the worktree and the branch that Fairway made are removed, unless they
/// have work that the base lacks, or a live session, a claimed task or a running job needs them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    /// Remove the worktree and the branch that Fairway made
    #[arg(long)]
    rm_worktree: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        ctx.answer(&if self.rm_worktree {
            close::close_and_remove(&app, &self.name)?
        } else {
            status::set(&app, &self.name, LaneStatus::Closed)?
        })
    }
}
