//! `fairway session heartbeat`

use anyhow::Result;

use crate::{
    actions::session::heartbeat::{self, Heartbeat},
    cli::{context::Context, exit::Exit, values},
    domain::{SessionId, session::Activity},
};

/// Say that a session lives, and what it does; it is stale no more, and its leases are renewed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// What it does: unknown, idle, busy, requires_action or stopping
    #[arg(long, value_parser = values::activity)]
    activity: Option<Activity>,
    /// What it waits for, with --activity requires_action
    #[arg(long, value_name = "TEXT")]
    waiting_for: Option<String>,
    /// How full its context is, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    context_usage: Option<f64>,
    /// The run that this is a sign of; another run's is refused
    #[arg(long, value_name = "UUID", value_parser = values::run_id)]
    run_id: Option<String>,
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
