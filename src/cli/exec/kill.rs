//! `fairway exec kill`

use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;

use crate::{
    actions::jobs::kill,
    cli::{context::Context, exit::Exit, values},
};

/// Kill a job and all its processes
///
/// Every process gets the signal, and KILL after the grace period. The command returns when all are dead. A queued job
/// is taken out of its queue; a finished job stays as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job id or its short form
    #[arg(value_name = "JOB")]
    run: String,
    /// First signal
    #[arg(long, value_name = "SIGNAL", value_parser = values::signal, default_value = "TERM")]
    signal: Signal,
    /// Time between the signal and KILL [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    grace: Option<Duration>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&kill::kill(&ctx.app()?, &self.run, Some(self.signal), self.grace)?)
    }
}
