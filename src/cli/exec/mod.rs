//! `fairway exec …`

mod format;
mod log;
mod spawn;
mod stream_printer;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use nix::sys::signal::Signal;

use crate::cli::context::{Context, exit_even_if_closed};
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::jobs::list::{self, ListOptions};
use fairway_actions::jobs::poll::{self, PollRequest};
use fairway_actions::jobs::{gc, kill, request, rm, send_keys, supervisor_process, wait, worker};
use fairway_core::domain::RoutingKey;
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::domain::terminal_input::TerminalInput;
use fairway_core::wire::FailureKind;
use fairway_core::wire::exec_request::{MAX_DOCUMENT_BYTES, Until};

/// Run and manage background jobs
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway exec spawn -- make test
fairway exec list")]
#[command(defer = true)]
pub enum Verb {
    Spawn(spawn::Args),
    Poll(PollArgs),
    Log(log::Args),
    Wait(WaitArgs),
    SendKeys(SendKeysArgs),
    Kill(KillArgs),
    List(ListArgs),
    Rm(RmArgs),
    Gc(GcArgs),
    Call(CallArgs),
    Worker(WorkerArgs),
    #[command(hide = true)]
    Supervise(SuperviseArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Spawn(args) => args.run(ctx),
            Self::Poll(args) => args.run(ctx),
            Self::Log(args) => args.run(ctx),
            Self::Wait(args) => args.run(ctx),
            Self::SendKeys(args) => args.run(ctx),
            Self::Kill(args) => ctx.answer(&kill::kill(&ctx.app()?, &args.run, Some(args.signal), args.grace)?),
            Self::List(args) => args.run(ctx),
            Self::Rm(args) => ctx.answer(&rm::rm(&ctx.app()?, &args.runs, args.force, args.reason.as_deref())?),
            Self::Gc(args) => ctx.answer(&gc::gc(&ctx.app()?, args.dry_run)?),
            Self::Call(args) => args.run(ctx),
            Self::Worker(args) => ctx.answer(&worker::worker(&ctx.app()?, args.until_empty)?),
            Self::Supervise(args) => args.run(ctx),
        }
    }

    /// Whether the command always reads and prints JSON, with or without `--json`.
    pub(super) const fn is_json(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

/// Show a job's status and its new output
///
/// Changes nothing. A job whose supervisor died is recovered by: fairway session reconcile
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec poll 01a200f8 --wait 30s")]
pub struct PollArgs {
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

impl PollArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let request = PollRequest { job: self.run, since_seq: self.since_seq, wait: self.wait, until: self.until };
        let polled = poll::poll(&ctx.app()?, &request)?;
        ctx.show(&polled, || vec![polled.run.run_id.clone()], || format::polled(&polled, ctx.env.now(), ctx.out.style))
    }
}

/// Wait for jobs to finish; exit 7 if one failed
///
/// A job whose supervisor died meanwhile is recovered by its policy.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec wait 01a200f8 --timeout 10m")]
pub struct WaitArgs {
    /// Job ids or their short forms
    #[arg(required = true, value_name = "JOB")]
    runs: Vec<String>,
    /// Maximum wait; exit 6 when it is over
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<Duration>,
}

impl WaitArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let shows = ctx.env.terminal.stderr && !ctx.out.json && !ctx.out.quiet;
        let progress = |runs: &[Job]| {
            if shows {
                ctx.out.progress(&progress(runs));
            }
        };
        let waited = wait::wait(&app, &self.runs, self.timeout, progress);
        if shows {
            ctx.out.progress("");
        }
        let runs = waited?;
        let succeeded = runs.iter().all(|run| run.status == JobStatus::Succeeded);
        let exit = if succeeded { 0 } else { FailureKind::External.exit_code() };
        let now = ctx.env.now();
        let lines = || runs.iter().map(|run| format::line(run, now, ctx.out.style) + "\n").collect();
        exit_even_if_closed(exit, ctx.show(&runs, || runs.iter().map(|run| run.run_id.clone()).collect(), lines))
    }
}

/// Formats how many jobs have ended, and the first four others, as one line.
fn progress(runs: &[Job]) -> String {
    let left: Vec<&Job> = runs.iter().filter(|run| !run.status.is_final()).collect();
    let names: Vec<String> = left.iter().take(4).map(|run| format!("{} {}", run.id.short(), run.status)).collect();
    let more = if left.len() > 4 { ", …" } else { "" };
    format!("{} of {} ended; {}{more}", runs.len() - left.len(), runs.len(), names.join(", "))
}

/// Type into the terminal of a job started with --pty
///
/// Input order: --size, -l, --paste, --hex, the keys, --eof. Keys have tmux's names (Enter, C-c, M-x, Up, F5). Other
/// words are an error; text goes with -l. Input that the program does not read within 5 s is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec send-keys 01a200f8 --literal yes Enter")]
pub struct SendKeysArgs {
    /// Job id or its short form
    #[arg(value_name = "JOB")]
    run: String,
    /// Keys by name
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Text, typed verbatim
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    literal: Option<String>,
    /// Text as a bracketed paste
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    paste: Option<String>,
    /// Bytes as hexadecimal digits
    #[arg(long, value_name = "HEX")]
    hex: Option<String>,
    /// Send the end of input
    #[arg(long)]
    eof: bool,
    /// Resize the terminal
    #[arg(long, value_name = "ROWSxCOLS")]
    size: Option<String>,
}

impl SendKeysArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let mut inputs = Vec::new();
        inputs.extend(self.size.as_deref().map(TerminalInput::parse_size).transpose()?);
        inputs.extend(self.literal.map(TerminalInput::Text));
        inputs.extend(self.paste.map(TerminalInput::Paste));
        inputs.extend(self.hex.as_deref().map(TerminalInput::parse_hex).transpose()?);
        for key in &self.keys {
            inputs.push(TerminalInput::parse_key(key)?);
        }
        inputs.extend(self.eof.then_some(TerminalInput::Eof));
        ctx.answer(&send_keys::send(&ctx.app()?, &self.run, &inputs)?)
    }
}

/// Kill a job and all its processes
///
/// Every process gets the signal, and KILL after the grace period. The command returns when all are dead. A queued job
/// is taken out of its queue; a finished job stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec kill 01a200f8 --grace 5s")]
pub struct KillArgs {
    /// Job id or its short form
    #[arg(value_name = "JOB")]
    run: String,
    /// First signal
    #[arg(long, value_name = "SIGNAL", value_parser = values::signal, default_value = "TERM")]
    signal: Signal,
    /// Time between the signal and KILL [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    grace: Option<Duration>,
}

/// List jobs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec list --unfinished")]
pub struct ListArgs {
    /// Only jobs of this session
    #[arg(long = "of-session", value_name = "SESSION", value_parser = values::routing_key)]
    session: Option<RoutingKey>,
    /// Only jobs that have not finished
    #[arg(long)]
    unfinished: bool,
    /// Maximum number of jobs; 0 for all
    #[arg(long, value_name = "N", default_value = "50", value_parser = values::limit)]
    limit: u32,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let request =
            ListOptions { session: self.session, unfinished: self.unfinished, limit: Some(i64::from(self.limit)) };
        let runs = list::list(&ctx.app()?, &request)?;
        let table = || {
            if runs.is_empty() {
                "no jobs\n".into()
            } else {
                format::table(&runs, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
            }
        };
        ctx.show(&runs, || runs.iter().map(|run| run.run_id.clone()).collect(), table)
    }
}

/// Delete finished jobs and their output
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec rm 01a200f8")]
pub struct RmArgs {
    /// Job ids or their short forms
    #[arg(required = true, value_name = "JOB")]
    runs: Vec<String>,
    /// Give up jobs of a host or container that is gone
    ///
    /// They are recorded as lost. Jobs of this host are settled by session reconcile. While that host is heard of, it needs --reason.
    #[arg(long)]
    force: bool,
    /// Reason to give up jobs, kept with them
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
}

/// Delete old finished jobs, as [exec] keep_* configures
///
/// Fairway does this by itself from time to time.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec gc --dry-run")]
pub struct GcArgs {
    /// Print the jobs and delete nothing
    #[arg(long)]
    dry_run: bool,
}

/// Execute a JSON request and print a JSON response
///
/// {"action":"spawn","command":"make test"} and so on: `fairway guide jobs` lists the actions and fields. Without an action the
/// command is run at once. Exit 0 means that there is a response; the command's result is in it. Errors are JSON on
/// stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec call --file request.json")]
pub struct CallArgs {
    /// File of the request; - reads stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl CallArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let document = ctx.input_of("the document", &self.file, MAX_DOCUMENT_BYTES)?;
        ctx.answer(&request::execute(&ctx.app()?, &document)?)
    }
}

/// Run the job scheduler as a service (optional)
///
/// Jobs are scheduled without it. Use it if you prefer one long-running service. Stops on TERM and INT. A second one waits
/// until the first ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec worker")]
pub struct WorkerArgs {
    /// Exit once the queues are empty
    #[arg(long, hide = true)]
    until_empty: bool,
}

/// Supervise one job; started by Fairway itself
#[derive(Debug, clap::Args)]
pub struct SuperviseArgs {
    /// Job id
    run: String,
}

impl SuperviseArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        supervisor_process::supervise(&ctx.app()?, &self.run)?;
        Ok(0)
    }
}
