//! `fairway session end`

use anyhow::Result;

use crate::{
    actions::session::end::{self, End},
    cli::{context::Context, exit::Exit, values},
    domain::{SessionId, session::SessionStatus},
};

/// Say that a session is over, for good; tasks that it holds stay as they are
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// ended or failed; by default failed when the exit code is not 0
    #[arg(long, value_parser = values::final_status)]
    status: Option<SessionStatus>,
    /// Its program's exit code
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let end = End { status: self.status, exit_code: self.exit_code, reason: self.reason };
        ctx.answer(&end::end(&ctx.app()?, &self.id, &end)?)
    }
}
