//! `fairway task block`, `unblock` and `resume`: transitions by the claimant, or by force.

use anyhow::Result;

use crate::{
    actions::queue::task::transition,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

// No doc comment: the command line would show it in place of each command's purpose.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(super) fn block(self, ctx: &Context) -> Result<Exit> {
        let reason = self.force.needed("block", std::slice::from_ref(&self.id))?;
        ctx.answer(&transition::block(&ctx.app()?, &self.id, reason, self.force.force().as_ref())?)
    }

    pub(super) fn unblock(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&transition::unblock(&ctx.app()?, &self.id, self.force.force().as_ref())?)
    }

    pub(super) fn resume(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&transition::resume(&ctx.app()?, &self.id, self.force.force().as_ref())?)
    }
}
