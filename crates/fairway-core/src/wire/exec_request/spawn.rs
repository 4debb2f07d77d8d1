//! The fields of `spawn`.

use std::time::Duration;

use super::document::{ExecDocument, SizeDocument, WatchDocument, quoted, usage_error};
use super::fields::{choice, millis, seconds, session_key};
use crate::domain::id::Label;
use crate::domain::job::{DEFAULT_TERMINAL_SIZE, RecoveryPolicy, TerminalSize};
use crate::domain::job_output::{WatchScope, Watcher};
use crate::domain::terminal_input::MAX_TERMINAL_DIMENSION;
use crate::domain::{Refusal, RoutingKey};

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedCommand {
    /// Text that a shell reads.
    Shell(String),
    /// A program and its arguments, which no shell reads.
    Argv(Vec<String>),
}

impl RequestedCommand {
    pub(super) fn read(command: Option<String>, argv: Option<Vec<String>>) -> Result<Self, Refusal> {
        match (command, argv) {
            (Some(_), Some(_)) => {
                Err(Refusal::Usage { why: "command and argv exclude each other; give one of them".into() })
            }
            (Some(command), None) => Ok(Self::Shell(command)),
            (None, Some(argv)) if argv.is_empty() => Err(usage_error("argv", "must name a program")),
            (None, Some(argv)) => Ok(Self::Argv(argv)),
            (None, None) => Err(Refusal::Usage { why: "command or argv is required".into() }),
        }
    }
}

/// The job to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnParams {
    /// The command.
    pub command: RequestedCommand,
    /// Whether the caller continues without waiting.
    pub background: bool,
    /// Whether it waits for a slot for checks.
    pub check: bool,
    /// The size of its terminal, when it gets one.
    pub pty: Option<TerminalSize>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How much of its output is kept, in bytes.
    pub max_output_bytes: Option<u64>,
    /// The watchers of its output.
    pub watch: Vec<Watcher>,
    /// The key under which its messages wait.
    pub session: Option<RoutingKey>,
    /// The queue whose earlier jobs it waits for; empty for none.
    pub queue: Option<String>,
    /// Where it runs, when not here.
    pub cwd: Option<String>,
    /// Variables that it gets besides the caller's, or does not get.
    pub env: Vec<(String, Option<String>)>,
    /// Its stdin.
    pub stdin: Option<String>,
    /// Its fate when its supervisor dies.
    pub recovery: RecoveryPolicy,
    /// How long to wait for its end before answering.
    pub yield_for: Option<Duration>,
}

impl SpawnParams {
    pub(super) fn read(document: ExecDocument) -> Result<Self, Refusal> {
        let recovery = choice("recovery", document.recovery.as_deref(), RecoveryPolicy::ALL, RecoveryPolicy::parse)?;
        let watch = document.watch.unwrap_or_default().into_iter().enumerate();
        Ok(Self {
            command: RequestedCommand::read(document.command, document.argv)?,
            background: document.background.unwrap_or(true),
            check: document.check.unwrap_or_default(),
            pty: terminal(document.pty.unwrap_or_default(), document.size.map(|size| size.0))?,
            timeout: seconds("timeout_secs", document.timeout_secs.as_ref())?,
            max_output_bytes: document.max_output_bytes,
            watch: watch.map(|(at, watch)| watcher(watch.0, &format!("watch[{at}]"))).collect::<Result<_, _>>()?,
            session: session_key(document.session_id.as_deref())?,
            queue: document.queue,
            cwd: document.cwd,
            env: document.env.unwrap_or_default().into_iter().map(variable).collect::<Result<_, _>>()?,
            stdin: document.stdin,
            recovery: recovery.unwrap_or(RecoveryPolicy::Requeue),
            yield_for: millis("yield_ms", document.yield_ms)?,
        })
    }
}

fn terminal(wanted: bool, size: Option<SizeDocument>) -> Result<Option<TerminalSize>, Refusal> {
    let Some(size) = size else { return Ok(wanted.then_some(DEFAULT_TERMINAL_SIZE)) };
    if !wanted {
        return Err(usage_error("size", "needs \"pty\": true"));
    }
    let side = |name: &str, side: Option<u64>| {
        let side = side.and_then(|side| u16::try_from(side).ok());
        side.filter(|side| (1..=MAX_TERMINAL_DIMENSION).contains(side)).ok_or_else(|| {
            usage_error(&format!("size.{name}"), format!("must be a whole number from 1 to {MAX_TERMINAL_DIMENSION}"))
        })
    };
    Ok(Some(TerminalSize { rows: side("rows", size.rows)?, cols: side("cols", size.cols)? }))
}

fn watcher(watch: WatchDocument, place: &str) -> Result<Watcher, Refusal> {
    let event = watch.event.as_deref().unwrap_or("match");
    let scope = format!("{place}.scope");
    Ok(Watcher {
        regex: watch.regex.ok_or_else(|| usage_error(&format!("{place}.regex"), "is missing"))?,
        event: Label::parse(event).map_err(|why| Refusal::Usage { why: format!("{place}.event: {why}") })?,
        once: watch.once.unwrap_or_default(),
        scope: choice(&scope, watch.scope.as_deref(), WatchScope::ALL, WatchScope::parse)?.unwrap_or(WatchScope::Both),
    })
}

fn variable((name, value): (String, Option<String>)) -> Result<(String, Option<String>), Refusal> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(usage_error(&format!("env.{}", quoted(&name)), "is not a valid variable name"));
    }
    Ok((name, value))
}
