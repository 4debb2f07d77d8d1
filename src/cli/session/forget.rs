//! `fairway session forget`

use anyhow::Result;

use crate::{
    actions::sessions::control::forget,
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::SessionId,
};

/// Give up a session whose host or container is gone
///
/// For a session of another host or container that will not come back: it is recorded as failed. Nothing of it is stopped, and its
/// claims stay. While that host or session is heard of, that is within `sessions.stale_after`, it needs --force and --reason. Refused inside a
/// session. For all of a host: fairway host retire.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&forget::forget(&ctx.app()?, &self.id, self.force.reason.as_deref(), self.force.force().as_ref())?)
    }
}
