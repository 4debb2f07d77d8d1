//! The fields of `spawn`.

use std::time::Duration;

use serde_json::Value;

use super::fields::{Fields, no, sort};
use crate::domain::{
    Refusal, SessionId,
    id::Label,
    job::{Recovery, TERMINAL, TerminalSize},
    terminal_input::MOST_LINES,
    watcher::{Scope, Watcher},
};

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// Text that a shell reads.
    Shell(String),
    /// A program and its arguments, which no shell reads.
    Program(Vec<String>),
}

impl Words {
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Refusal> {
        match (fields.text("command")?, fields.texts("argv")?) {
            (Some(_), Some(_)) => {
                Err(Refusal::Usage { why: "command and argv exclude each other: give one of them".into() })
            }
            (Some(command), None) => Ok(Self::Shell(command)),
            (None, Some(argv)) if argv.is_empty() => Err(no("argv", "must name a program")),
            (None, Some(argv)) => Ok(Self::Program(argv)),
            (None, None) => Err(Refusal::Usage { why: "what is to be run? give command or argv".into() }),
        }
    }
}

/// What is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// The command.
    pub what: Words,
    /// Whether whoever asks goes on meanwhile.
    pub background: bool,
    /// The size of its terminal, when it gets one.
    pub pty: Option<TerminalSize>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How much of its output is kept, in bytes.
    pub max_output_bytes: Option<u64>,
    /// What is looked for in its output.
    pub watch: Vec<Watcher>,
    /// Under which key its messages wait.
    pub session: Option<SessionId>,
    /// Which runs it waits for; empty for none.
    pub queue: Option<String>,
    /// Where it runs, when not here.
    pub cwd: Option<String>,
    /// Variables that it gets besides the caller's, or does not get.
    pub env: Vec<(String, Option<String>)>,
    /// What it reads.
    pub stdin: Option<String>,
    /// What becomes of it when its supervisor dies.
    pub recovery: Recovery,
    /// How long to wait for its end before answering.
    pub yield_for: Option<Duration>,
}

impl Spawn {
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Refusal> {
        let max_output_bytes = fields.whole("max_output_bytes")?.and_then(|bytes| u64::try_from(bytes).ok());
        let recovery = fields.word("recovery", Recovery::ALL.iter().map(|one| one.as_str()), Recovery::parse)?;
        Ok(Self {
            what: Words::read(fields)?,
            background: fields.flag("background")?.unwrap_or(true),
            pty: terminal(fields)?,
            timeout: super::seconds(fields, "timeout_secs")?,
            max_output_bytes,
            watch: watchers(fields)?,
            session: fields.parsed("session_id", SessionId::parse)?,
            queue: fields.text("queue")?,
            cwd: fields.text("cwd")?,
            env: variables(fields)?,
            stdin: fields.text("stdin")?,
            recovery: recovery.unwrap_or(Recovery::Requeue),
            yield_for: super::millis(fields, "yield_ms")?,
        })
    }
}

fn terminal(fields: &mut Fields) -> Result<Option<TerminalSize>, Refusal> {
    let wanted = fields.flag("pty")?.unwrap_or_default();
    match fields.take("size") {
        Some(_) if !wanted => Err(no("size", "is a terminal's: it needs \"pty\": true")),
        Some(value) => size(value, "size").map(Some),
        None => Ok(wanted.then_some(TERMINAL)),
    }
}

/// A terminal's size, `{"rows": 24, "cols": 80}`.
fn size(value: Value, place: &str) -> Result<TerminalSize, Refusal> {
    let mut fields = Fields::of(value, place)?;
    let mut side = |name: &'static str| {
        let side = fields.whole(name)?.and_then(|side| u16::try_from(side).ok());
        let side = side.filter(|side| (1..=MOST_LINES).contains(side));
        side.ok_or_else(|| no(&fields.at(name), format!("must be a whole number from 1 to {MOST_LINES}")))
    };
    let size = TerminalSize { rows: side("rows")?, cols: side("cols")? };
    fields.end()?;
    Ok(size)
}

fn watchers(fields: &mut Fields) -> Result<Vec<Watcher>, Refusal> {
    let list = fields.list("watch")?.unwrap_or_default();
    list.into_iter().enumerate().map(|(at, value)| watcher(value, &format!("watch[{at}]"))).collect()
}

fn watcher(value: Value, place: &str) -> Result<Watcher, Refusal> {
    let mut fields = Fields::of(value, place)?;
    let watcher = Watcher {
        regex: fields.needed("regex")?,
        event: match fields.parsed("event", Label::parse)? {
            Some(event) => event,
            None => Label::parse("match")?,
        },
        once: fields.flag("once")?.unwrap_or_default(),
        scope: fields
            .word("scope", Scope::ALL.iter().map(|scope| scope.as_str()), Scope::parse)?
            .unwrap_or(Scope::Both),
    };
    fields.end()?;
    Ok(watcher)
}

fn variables(fields: &mut Fields) -> Result<Vec<(String, Option<String>)>, Refusal> {
    let Some(value) = fields.take("env") else { return Ok(Vec::new()) };
    let Value::Object(map) = value else {
        return Err(no("env", format!("must be an object of strings and nulls, not {}", sort(&value))));
    };
    let one = |(name, value): (String, Value)| {
        let place = format!("env.{}", super::shown(&name));
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(no(&place, "is no name of a variable"));
        }
        match value {
            Value::Null => Ok((name, None)),
            Value::String(text) => Ok((name, Some(text))),
            other => Err(no(&place, format!("must be a string, or null to unset it, not {}", sort(&other)))),
        }
    };
    map.into_iter().map(one).collect()
}
