//! `fairway host retire`

use anyhow::Result;

use crate::{
    actions::upkeep::retire_host,
    cli::{context::Context, exit::Exit},
};

/// Give up a host that will not come back
///
/// For a machine or container that is gone. In one write its sessions are recorded as failed and its jobs as lost, and the claims of its sessions
/// are released. Work in review and claims of persons stay. Its lanes are named, with those whose branch no remote has, as
/// far as this checkout knows from its last git fetch. Nothing is stopped there. It is refused while the host was heard of within
/// `sessions.stale_after`, unless --force is given. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id, as in host list
    host: String,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Give it up although it was heard of lately
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&retire_host::retire(&ctx.app()?, &self.host, &self.reason, self.force)?)
    }
}
