//! `fairway exec spawn`

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    time::Duration,
};

use anyhow::Result;

use super::{log::Reader, words};
use crate::{
    actions::{
        App,
        exec::{
            log,
            spawn::{self, Order, What},
            wait,
        },
    },
    cli::{context::Context, context::exit_even_if_closed, exit::Exit, values},
    config::parse_size,
    domain::{
        SessionId,
        run::{Recovery, RunStatus, TERMINAL, TerminalSize},
        typed,
        watch::Watcher,
    },
    render::{OutError, safe},
    wire::FailureKind,
};

/// Start a command that outlives this call
///
/// Runs of one queue run one after the other, in the order of asking; the queue is the session's unless another is named.
/// Nothing is read by a shell unless it is given with --shell.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
#[command(override_usage = "fairway exec spawn [OPTIONS] (--shell TEXT | -- CMD...)")]
pub struct Args {
    /// The session that its messages go to; by default the acting one
    #[arg(long = "for", value_name = "SESSION", value_parser = values::session)]
    session: Option<SessionId>,
    /// Give it a terminal
    #[arg(long)]
    pty: bool,
    /// The terminal's size; by default 24x80
    #[arg(long, value_name = "ROWSxCOLS", requires = "pty", value_parser = size)]
    size: Option<TerminalSize>,
    /// Wait for its end and show what it prints; exit 7 when it does not succeed. INT ends the waiting, not the run
    #[arg(long, conflicts_with = "yield_for")]
    foreground: bool,
    /// Wait so long for its end before answering
    #[arg(long = "yield", id = "yield_for", value_name = "SPAN", value_parser = values::duration)]
    yield_for: Option<Duration>,
    /// End it after so long
    #[arg(long, value_name = "SPAN", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// How much of its output is kept: its beginning and its end; by default 1MiB
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    max_output: Option<u64>,
    /// Tell its session when a line matches: an expression and what that is called, by default match
    #[arg(long, value_name = "REGEX=EVENT", value_parser = values::watcher)]
    watch: Vec<Watcher>,
    /// The same for the first match only
    #[arg(long, value_name = "REGEX=EVENT", value_parser = values::watcher)]
    watch_once: Vec<Watcher>,
    /// Where it runs; by default here
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// A variable of its environment; NAME alone unsets one
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// What it reads; - reads stdin. By default it reads nothing
    #[arg(long, value_name = "TEXT")]
    stdin: Option<String>,
    /// A file with what it reads; - reads stdin
    #[arg(long, value_name = "FILE")]
    stdin_file: Option<PathBuf>,
    /// Its queue, by default the session's; '' for none
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// What becomes of it when its supervisor dies: it is run again, or lost
    #[arg(long, value_name = "HOW", value_parser = recovery)]
    recovery: Option<Recovery>,
    /// Shell text
    #[arg(long, value_name = "TEXT", group = "what")]
    shell: Option<String>,
    /// A program and its arguments, exactly
    #[arg(last = true, value_name = "CMD", group = "what")]
    command: Vec<OsString>,
}

/// A variable and its value; without a value it is to be unset.
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
    typed::size(text).map_err(|refusal| refusal.to_string())
}

fn recovery(text: &str) -> Result<Recovery, String> {
    values::word(text, Recovery::parse(text), Recovery::ALL.iter().map(|one| one.as_str()))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let stdin = ctx.bytes("stdin", self.stdin, self.stdin_file.as_deref())?;
        let once = self.watch_once.into_iter().map(|watcher| Watcher { once: true, ..watcher });
        let order = Order {
            background: !self.foreground,
            yield_for: self.yield_for,
            watch: self.watch.into_iter().chain(once).collect(),
            pty: self.pty.then(|| self.size.unwrap_or(TERMINAL)),
            timeout: self.timeout,
            max_output_bytes: self.max_output,
            session: self.session,
            queue: self.queue,
            cwd: self.cwd,
            env: self.env.into_iter().map(variable).collect(),
            stdin,
            recovery: self.recovery.unwrap_or(Recovery::Requeue),
            ..Order::new(self.shell.map_or(What::Program(self.command), What::Shell))
        };
        let app = ctx.app()?;
        if self.foreground && !ctx.out.json && !ctx.out.quiet {
            return watched(ctx, &app, &order);
        }
        let answer = spawn::begin(&app, &order)?;
        let Some(polled) = spawn::seen(&app, &order, &answer)? else {
            return ctx.answer(&spawn::unseen(&app, &order, answer)?);
        };
        let exit = if order.background || spawn::succeeded(&polled) { 0 } else { FailureKind::External.exit_code() };
        let shown = ctx.show(&polled, || answer.ids.clone(), || words::polled(&polled, ctx.env.now(), ctx.out.style));
        exit_even_if_closed(exit, shown)
    }
}

/// Starts a run and shows what it prints until it has ended.
fn watched(ctx: &Context, app: &App, order: &Order) -> Result<Exit> {
    let started = spawn::begin(app, order)?;
    for remark in started.remarks.iter().chain([&started.line]) {
        ctx.out.remark(&safe(remark));
    }
    let run = started.ids.first().cloned().unwrap_or_default();
    let mut reader = Reader::new(ctx);
    // Who does not read any more has seen enough; the exit code stands.
    let enough = |shown: Result<_>| match shown {
        Err(error) if !matches!(error.downcast_ref(), Some(OutError::Closed)) => Err(error),
        _ => Ok(()),
    };
    enough(reader.read(app, &log::Order { run: run.clone(), since_seq: 0, limit: None, stream: None }, true))?;
    // When its supervisor died, what becomes of it is seen to here; it may even be run again.
    let ended = wait::wait(app, std::slice::from_ref(&run), None, |_| {})?;
    let since_seq = reader.seen();
    enough(reader.read(app, &log::Order { run, since_seq, limit: None, stream: None }, false))?;
    let succeeded = ended.iter().all(|run| run.status == RunStatus::Succeeded.as_str());
    Ok(if succeeded { 0 } else { FailureKind::External.exit_code() })
}
