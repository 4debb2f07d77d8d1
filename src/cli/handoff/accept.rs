//! `fairway handoff accept`

use anyhow::Result;

use crate::{
    actions::queue::handoff::accept::{self, Acceptance},
    cli::{context::Context, exit::Exit},
};

/// Accept a handoff and claim its task
///
/// When the claim is refused, the handoff stays open. A task of which something was begun stays in the lane of its work, and the
/// answer says where that is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    /// Accept only; the task keeps its claimant
    #[arg(long)]
    no_claim: bool,
    /// Bring the commits into your own lane too
    ///
    /// Your own lane is that of your session, else the one that the handoff is for, else FAIRWAY_LANE. Its branch gets the commits by
    /// a fast-forward or a merge. A conflict, work that is in no commit and another session in your lane change nothing.
    #[arg(long = "move", conflicts_with = "no_claim")]
    moves: bool,
    /// Claim the task, as is the default
    #[arg(long, hide = true, conflicts_with = "no_claim")]
    claim: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let how = match (self.moves, self.no_claim) {
            (true, _) => Acceptance::WithWork,
            (false, true) => Acceptance::WithoutClaim,
            (false, false) => Acceptance::WithClaim,
        };
        ctx.answer(&accept::accept(&ctx.app()?, self.id, how)?)
    }
}
