//! `fairway exec poll`

use std::time::Duration;

use anyhow::Result;

use super::format;
use crate::{
    actions::jobs::poll::{self, PollRequest},
    cli::{context::Context, exit::Exit, values},
    wire::exec_request::Until,
};

/// Show a job's status and its new output
///
/// Changes nothing. A job whose supervisor died is recovered by: fairway session reconcile
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job id or its short form
    #[arg(value_name = "JOB")]
    run: String,
    /// Only items after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    since_seq: i64,
    /// Wait this long for something new
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    wait: Option<Duration>,
    /// Wait for exit, output or event [default: any]
    #[arg(long, value_name = "WHAT", requires = "wait", value_parser = until)]
    until: Option<Until>,
}

fn until(text: &str) -> Result<Until, String> {
    values::word(text, Until::parse(text), Until::ALL.iter().map(|until| until.as_str()))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let order = PollRequest { job: self.run, since_seq: self.since_seq, wait: self.wait, until: self.until };
        let polled = poll::poll(&ctx.app()?, &order)?;
        ctx.show(&polled, || vec![polled.run.run_id.clone()], || format::polled(&polled, ctx.env.now(), ctx.out.style))
    }
}
