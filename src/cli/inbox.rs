//! `fairway inbox`

use std::time::Duration;

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::actions::mail::inbox;

/// Read the messages to this session, its lane and its role
///
/// A printed message is offered for 60 s. The next command that reads messages acknowledges it; --ack does so at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait this long for a message; exit 6 if none arrives
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    wait: Option<Duration>,
    /// Acknowledge the printed messages
    #[arg(long)]
    ack: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&inbox::inbox(&ctx.app()?, self.wait, self.ack)?)
    }
}
