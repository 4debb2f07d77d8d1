//! `fairway sandbox run`

use std::ffi::OsString;

use anyhow::Result;

use crate::{
    actions::sessions::sandbox::run::{self, SandboxRequest},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, id::Label, sandbox::SandboxNetwork},
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
    /// Network: none or open [default: sandbox.network]
    #[arg(long, value_name = "WHICH", value_parser = values::sandbox_network)]
    network: Option<SandboxNetwork>,
    /// Agent whose state in your home is open
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    provider: Option<Label>,
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
            network: self.network,
            provider: self.provider,
            env: self.env,
            argv: self.words,
        };
        let finished = run::run(&ctx.app()?, &request)?;
        for note in &finished.notes {
            ctx.out.note(&crate::render::escape_controls(note));
        }
        Ok(match finished.exit {
            ExitReason::Code(code) => Exit::try_from(code).unwrap_or(1),
            ExitReason::Signal(signal) => Exit::try_from(SIGNAL + signal).unwrap_or(1),
            ExitReason::TimedOut => 1,
        })
    }
}
