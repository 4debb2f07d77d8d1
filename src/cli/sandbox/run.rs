//! `fairway sandbox run`

use std::ffi::OsString;

use anyhow::Result;

use super::options::Opened;
use crate::{
    actions::sessions::sandbox::run::{self, Finished, SandboxRequest},
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
    os::exit_reason::ExitReason,
};

/// The exit code of a program that a signal ended, less the signal's number, as shells have it.
const SIGNAL: i32 = 128;

/// Run a program in the sandbox of a lane
///
/// The program sees the machine read-only. Your home, /tmp, /run, the project, its store and its other lanes are closed, but for
/// toolchains and what [sandbox] names; the lane can be written, without the settings that your programs run later. It has no
/// network, unless that is opened. Git in the lane works on a repository of the sandbox's own, and the lane's branch gets its
/// commits at the end. Needs bubblewrap 0.8. The exit code is that of the program.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane [default: that of the session, or of the directory]
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    #[command(flatten)]
    opened: Opened,
    /// Variable that reaches the program; repeatable
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let request = SandboxRequest {
            lane: self.lane,
            class: self.opened.class,
            network: self.opened.network.network,
            provider: self.opened.provider,
            env: self.env,
            argv: self.words,
        };
        Ok(exit(ctx, &run::run(&ctx.app()?, &request)?))
    }
}

/// The exit code of a program that has ended, after the notes about it.
pub(super) fn exit(ctx: &Context, finished: &Finished) -> Exit {
    for note in &finished.notes {
        ctx.out.note(&crate::render::escape_controls(note));
    }
    match finished.exit {
        ExitReason::Code(code) => Exit::try_from(code).unwrap_or(1),
        ExitReason::Signal(signal) => Exit::try_from(SIGNAL + signal).unwrap_or(1),
        ExitReason::TimedOut => 1,
    }
}
