//! `fairway inbox`

use std::time::Duration;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::mail::inbox;

/// Read the messages to this session or person
///
/// Those to the lane and role are among them. Outside of a session, they are yours. A printed message is offered for 60 s. The next command that reads messages acknowledges it; --ack does so at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway inbox --wait 30s --ack")]
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
        // A key that can be no session's id, such as `agent:main/7`: only the notifications of jobs wait under it.
        let key = ctx.globals.session.as_ref().filter(|key| key.session_id().is_none());
        let app = match key {
            Some(key) => ctx.app_as(inbox::actor_of_key(key))?,
            None => ctx.app()?,
        };
        let mut warn = |text: &str| ctx.out.note(&format!("warning: {text}"));
        ctx.answer(&inbox::inbox(&app, key, self.wait, self.ack, &mut warn)?)
    }
}
