//! `fairway session heartbeat`

use anyhow::Result;

use crate::{
    actions::sessions::report::heartbeat::{self, Heartbeat},
    cli::{context::Context, exit::Exit, values},
    domain::{RunId, SessionId, session::Activity},
};

/// Record a heartbeat of a session
///
/// Clears `stale` and renews the leases of the session's claims.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Activity: unknown, idle, busy, requires_action, stopping
    #[arg(long, value_parser = values::activity)]
    activity: Option<Activity>,
    /// Awaited input, with --activity requires_action
    #[arg(long, value_name = "TEXT")]
    waiting_for: Option<String>,
    /// Share of the context window in use, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    context_usage: Option<f64>,
    /// Session run of the heartbeat; another run is refused
    #[arg(long, value_name = "UUID", value_parser = values::run_id)]
    run_id: Option<RunId>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let beat = Heartbeat {
            activity: self.activity,
            waiting_for: self.waiting_for,
            context_usage: self.context_usage,
            run_id: self.run_id,
        };
        ctx.answer(&heartbeat::heartbeat(&ctx.app()?, &self.id, &beat)?)
    }
}
