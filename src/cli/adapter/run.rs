//! `fairway adapter run`

use anyhow::Result;

use crate::{
    actions::sessions::liveness::record_exit,
    adapters::plumbing::{IoMode, commands::start},
    cli::{Context, Exit},
    render::escape_line,
};

/// Run a session's program to its end, here; its exit code is the answer
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// Run it in a process of its own, and return once it was started
    #[arg(long, conflicts_with = "apart")]
    detach: bool,
    /// Give it a terminal of its own and keep everything that it prints
    #[arg(long, conflicts_with_all = ["detach", "apart"])]
    record: bool,
    /// Be that process
    #[arg(long, hide = true)]
    apart: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.detach {
            start::detach(&ctx.env, &self.name)?;
            return Ok(0);
        }
        let how = match (self.apart, self.record) {
            (true, _) => IoMode::Detached,
            (_, true) => IoMode::PtyProxy,
            _ => IoMode::Inherit,
        };
        let warn = |why: &str| ctx.out.write_error(&escape_line(why));
        let code = start::run(&ctx.env, &self.name, how, record_exit::record, warn)?;
        Ok(Exit::try_from(code).unwrap_or(1))
    }
}
