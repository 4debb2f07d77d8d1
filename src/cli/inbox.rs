//! `fairway inbox`

use std::time::Duration;

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::actions::message::inbox;

/// Read the messages to this session, its lane and its role
///
/// What is printed is offered for a minute; the next command that reads messages acknowledges it, --ack does so at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait so long for a message; exit 6 when none arrives
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    wait: Option<Duration>,
    /// Acknowledge what is printed
    #[arg(long)]
    ack: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&inbox::inbox(&ctx.app()?, self.wait, self.ack)?)
    }
}
