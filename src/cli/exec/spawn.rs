//! `fairway exec spawn`

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::format;
use super::log::Reader;
use crate::cli::context::{Context, exit_even_if_closed};
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::App;
use fairway_actions::jobs::spawn::{self, CommandSpec, SpawnRequest};
use fairway_actions::jobs::{log, wait};
use fairway_core::config::parse_size;
use fairway_core::domain::job::{DEFAULT_TERMINAL_SIZE, JobStatus, RecoveryPolicy, TerminalSize};
use fairway_core::domain::job_output::Watcher;
use fairway_core::domain::{RoutingKey, terminal_input};
use fairway_core::render::{OutError, escape_controls};
use fairway_core::wire::FailureKind;

/// Start a background job
///
/// Jobs of one queue run one after another. The default queue is the session's. A command after -- runs without a
/// shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway exec spawn -- make test
fairway exec spawn --watch 'error=broken' --shell 'make test 2>&1'")]
#[command(group(clap::ArgGroup::new("what").required(true)))]
#[command(override_usage = "fairway exec spawn [OPTIONS] (--shell TEXT | -- CMD...)")]
pub struct Args {
    /// Session to notify; default: the acting one
    #[arg(long = "notify", value_name = "SESSION", value_parser = values::routing_key)]
    session: Option<RoutingKey>,
    /// Give the job a terminal
    #[arg(long)]
    pty: bool,
    /// Terminal size [default: 24x80]
    #[arg(long, value_name = "ROWSxCOLS", requires = "pty", value_parser = size)]
    size: Option<TerminalSize>,
    /// Show the output until the end; exit 7 if it fails
    #[arg(long, conflicts_with = "yield_for")]
    foreground: bool,
    /// Wait this long for the end before answering
    #[arg(long = "wait-for", id = "yield_for", value_name = "DURATION", value_parser = values::duration)]
    yield_for: Option<Duration>,
    /// Wait for a slot for checks before the program runs
    #[arg(long)]
    check: bool,
    /// Kill the job after this time
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// Output to keep, head and tail [default: 1MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    max_output: Option<u64>,
    /// Notify the session when a line matches; repeatable
    #[arg(long, value_name = "REGEX=EVENT", value_parser = values::watcher)]
    watch: Vec<Watcher>,
    /// Notify on the first match only; repeatable
    #[arg(long, value_name = "REGEX=EVENT", value_parser = values::watcher)]
    watch_once: Vec<Watcher>,
    /// Working directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Environment variable; NAME alone unsets it; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// Text for its stdin; - reads stdin [default: empty]
    #[arg(long, value_name = "TEXT")]
    stdin: Option<String>,
    /// Read its stdin from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    stdin_file: Option<PathBuf>,
    /// Queue; '' for none [default: the session's]
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// If the supervisor dies: requeue the job or mark it lost
    #[arg(long, value_name = "HOW", value_parser = recovery)]
    recovery: Option<RecoveryPolicy>,
    /// Shell text
    #[arg(long, value_name = "TEXT", group = "what")]
    shell: Option<String>,
    /// Program and arguments
    #[arg(last = true, value_name = "CMD", group = "what")]
    command: Vec<OsString>,
}

/// Splits `NAME=VALUE`. Without a value the variable is to be unset.
fn variable(text: OsString) -> (OsString, Option<OsString>) {
    // A name may begin with '=', so the first letter is never the separator.
    let at = text.as_bytes().iter().skip(1).position(|byte| *byte == b'=').map(|at| at + 1);
    let part = |from: usize, to: usize| OsStr::from_bytes(text.as_bytes().get(from..to).unwrap_or_default()).to_owned();
    match at {
        Some(at) => (part(0, at), Some(part(at + 1, text.len()))),
        None => (text, None),
    }
}

fn size(text: &str) -> Result<TerminalSize, String> {
    terminal_input::parse_terminal_size(text).map_err(|refusal| refusal.to_string())
}

fn recovery(text: &str) -> Result<RecoveryPolicy, String> {
    values::word(text, RecoveryPolicy::parse(text), RecoveryPolicy::ALL.iter().map(|one| one.as_str()))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let stdin = ctx.bytes("stdin", self.stdin, self.stdin_file.as_deref())?;
        let once = self.watch_once.into_iter().map(|watcher| Watcher { once: true, ..watcher });
        let request = SpawnRequest {
            background: !self.foreground,
            check: self.check,
            yield_for: self.yield_for,
            watch: self.watch.into_iter().chain(once).collect(),
            pty: self.pty.then(|| self.size.unwrap_or(DEFAULT_TERMINAL_SIZE)),
            timeout: self.timeout,
            max_output_bytes: self.max_output,
            session: self.session,
            queue: self.queue,
            cwd: self.cwd,
            env: self.env.into_iter().map(variable).collect(),
            stdin,
            recovery: self.recovery.unwrap_or(RecoveryPolicy::Requeue),
            ..SpawnRequest::new(self.shell.map_or(CommandSpec::Program(self.command), CommandSpec::Shell))
        };
        let app = ctx.app()?;
        if self.foreground && !ctx.out.json && !ctx.out.quiet {
            return watched(ctx, &app, &request);
        }
        let answer = spawn::submit(&app, &request)?;
        let Some(polled) = spawn::await_result(&app, &request, &answer)? else {
            return ctx.answer(&spawn::pending_response(&app, &request, answer)?);
        };
        let exit = if request.background || spawn::succeeded(&polled) { 0 } else { FailureKind::External.exit_code() };
        let shown = ctx.show(&polled, || answer.ids.clone(), || format::polled(&polled, ctx.env.now(), ctx.out.style));
        exit_even_if_closed(exit, shown)
    }
}

/// Starts a job in the foreground and prints its output until it has ended.
fn watched(ctx: &Context, app: &App, request: &SpawnRequest) -> Result<Exit> {
    let started = spawn::submit(app, request)?;
    for note in started.notes.iter().chain([&started.line]) {
        ctx.out.note(&escape_controls(note));
    }
    let run = started.ids.first().cloned().unwrap_or_default();
    let mut reader = Reader::new(ctx);
    // A reader that closed the pipe has seen enough; the exit code stays.
    let enough = |shown: Result<_>| match shown {
        Err(error) if !matches!(error.downcast_ref(), Some(OutError::Closed)) => Err(error),
        _ => Ok(()),
    };
    enough(reader.read(app, &log::LogRequest { job: run.clone(), since_seq: 0, limit: None, stream: None }, true))?;
    // If the job's supervisor has died, this settles the job, which may even run again.
    let ended = wait::wait(app, std::slice::from_ref(&run), None, |_| {})?;
    let since_seq = reader.seen();
    enough(reader.read(app, &log::LogRequest { job: run, since_seq, limit: None, stream: None }, false))?;
    let succeeded = ended.iter().all(|run| run.status == JobStatus::Succeeded);
    Ok(if succeeded { 0 } else { FailureKind::External.exit_code() })
}
