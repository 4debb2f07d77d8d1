//! `fairway session end`

use anyhow::Result;

use crate::{
    actions::sessions::report::end::{self, EndRequest},
    cli::{context::Context, exit::Exit, values},
    domain::{SessionId, session::SessionStatus},
};

/// Record a session's end; its claims stay
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Status: ended or failed [default: by --exit-code]
    #[arg(long, value_parser = values::final_status)]
    status: Option<SessionStatus>,
    /// Exit code of its program
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let end = EndRequest { status: self.status, exit_code: self.exit_code, reason: self.reason };
        ctx.answer(&end::end(&ctx.app()?, &self.id, &end)?)
    }
}
