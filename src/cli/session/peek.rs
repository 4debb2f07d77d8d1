//! `fairway session peek`

use anyhow::Result;

use crate::{
    actions::session::peek,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::safe,
};

/// Show the last lines of a session; after its end those of its transcript
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// How many; 0 for all that is kept
    #[arg(long, value_name = "N", default_value_t = 40)]
    lines: u32,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let peek = peek::peek(&ctx.app()?, &self.id, self.lines)?;
        ctx.show(&peek, || vec![peek.session_id.clone()], || safe(&peek.text))
    }
}
