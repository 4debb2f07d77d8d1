//! `fairway evidence run`

use std::{ffi::OsString, sync::Arc, time::Duration};

use anyhow::Result;

use crate::{
    actions::queue::evidence::run::{self, CommandSpec, EvidenceRun},
    cli::{context::Context, context::exit_even_if_closed, exit::Exit, values},
    domain::{TaskId, id::Label},
    os::run_streaming::Stream,
    render::Relay,
    wire::FailureKind,
};

/// Run a program and record its result as evidence
///
/// Exits 0 if the program passed and 7 if it failed. It runs without a shell and without stdin, in the worktree of the
/// task's lane, else here. Its output is shown and kept. Processes that it leaves behind are killed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Kind of evidence [default: test]
    #[arg(long, value_parser = values::label)]
    kind: Option<Label>,
    /// Run the task's own command for this check
    #[arg(long, value_name = "NAME", value_parser = values::label, conflicts_with = "command")]
    check: Option<Label>,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Kill the program after this time; it has then failed
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// Program and arguments
    #[arg(last = true, value_name = "CMD", required_unless_present = "check")]
    command: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let order = EvidenceRun {
            task: self.task,
            kind: self.kind,
            command: self.check.map_or(CommandSpec::Command(self.command), CommandSpec::Check),
            summary: self.summary,
            timeout: self.timeout,
        };
        let relay = Relay::new(&ctx.out, ctx.env.terminal.stdout, ctx.env.terminal.stderr);
        let pass_on = move |stream, bytes: &[u8]| match stream {
            Stream::Out => relay.out(bytes),
            Stream::Err => relay.err(bytes),
        };
        let answer = run::run(&ctx.app()?, &order, Arc::new(pass_on))?;
        let exit = if run::passed(&answer) { 0 } else { FailureKind::External.exit_code() };
        exit_even_if_closed(exit, ctx.answer(&answer))
    }
}
