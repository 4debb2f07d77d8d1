//! `fairway exec kill`

use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;

use crate::{
    actions::exec::kill,
    cli::{context::Context, exit::Exit, values},
};

/// End a run with everything in it; returns when all of it is dead
///
/// Everything gets the signal, and is killed when it is still there after the grace. A run that waits is taken out of its
/// queue; one that has ended stays as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, or the short form that is shown
    run: String,
    /// The first signal
    #[arg(long, value_name = "SIGNAL", value_parser = values::signal, default_value = "TERM")]
    signal: Signal,
    /// How long that may take; by default 2s
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    grace: Option<Duration>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&kill::kill(&ctx.app()?, &self.run, Some(self.signal), self.grace)?)
    }
}
