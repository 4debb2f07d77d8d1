//! `fairway review resolve`

use anyhow::Result;

use crate::{
    actions::queue::{review::comments, task::ForceReason},
    cli::{context::Context, exit::Exit},
};

/// Resolve your comment on a line
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Comment number
    #[arg(value_name = "ID")]
    id: i64,
    /// Resolve the comment of another reviewer; needs --reason
    #[arg(long, requires = "reason")]
    force: bool,
    /// Reason for --force, kept in the history
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let force = self.reason.filter(|_| self.force).map(|reason| ForceReason { reason });
        ctx.answer(&comments::resolve(&ctx.app()?, self.id, force.as_ref())?)
    }
}
