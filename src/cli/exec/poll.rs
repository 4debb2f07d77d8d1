//! `fairway exec poll`

use std::time::Duration;

use anyhow::Result;

use super::words;
use crate::{
    actions::exec::poll::{self, Order},
    cli::{context::Context, exit::Exit, values},
    wire::call::Until,
};

/// Show how a run stands, and what is new of it
///
/// It changes nothing, whatever has become of the run: fairway session reconcile does.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, or the short form that is shown
    run: String,
    /// Only items above this number
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    since_seq: i64,
    /// Wait so long for something new; what there is then is the answer
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    wait: Option<Duration>,
    /// What to wait for: exit, output or event; by default whichever comes first
    #[arg(long, value_name = "WHAT", requires = "wait", value_parser = until)]
    until: Option<Until>,
}

fn until(text: &str) -> Result<Until, String> {
    values::word(text, Until::parse(text), Until::ALL.iter().map(|until| until.as_str()))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let order = Order { run: self.run, since_seq: self.since_seq, wait: self.wait, until: self.until };
        let polled = poll::poll(&ctx.app()?, &order)?;
        ctx.show(&polled, || vec![polled.run.run_id.clone()], || words::polled(&polled, ctx.env.now(), ctx.out.style))
    }
}
