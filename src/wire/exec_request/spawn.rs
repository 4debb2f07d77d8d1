//! The fields of `spawn`.

use std::time::Duration;

use serde_json::Value;

use super::fields::{ObjectFields, quoted, type_name, usage_error};
use crate::domain::{
    Refusal, SessionId,
    id::Label,
    job::{DEFAULT_TERMINAL_SIZE, RecoveryPolicy, TerminalSize},
    terminal_input::MAX_TERMINAL_DIMENSION,
    watcher::{WatchScope, Watcher},
};

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedCommand {
    /// Text that a shell reads.
    Shell(String),
    /// A program and its arguments, which no shell reads.
    Argv(Vec<String>),
}

impl RequestedCommand {
    pub(super) fn read(fields: &mut ObjectFields) -> Result<Self, Refusal> {
        match (fields.text("command")?, fields.text_list("argv")?) {
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

/// What is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnParams {
    /// The command.
    pub command: RequestedCommand,
    /// Whether the caller continues without waiting.
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
    pub recovery: RecoveryPolicy,
    /// How long to wait for its end before answering.
    pub yield_for: Option<Duration>,
}

impl SpawnParams {
    pub(super) fn read(fields: &mut ObjectFields) -> Result<Self, Refusal> {
        let max_output_bytes = fields.integer("max_output_bytes")?.and_then(|bytes| u64::try_from(bytes).ok());
        let recovery =
            fields.choice("recovery", RecoveryPolicy::ALL.iter().map(|one| one.as_str()), RecoveryPolicy::parse)?;
        Ok(Self {
            command: RequestedCommand::read(fields)?,
            background: fields.boolean("background")?.unwrap_or(true),
            pty: terminal(fields)?,
            timeout: fields.seconds("timeout_secs")?,
            max_output_bytes,
            watch: watchers(fields)?,
            session: fields.parse_with("session_id", SessionId::parse)?,
            queue: fields.text("queue")?,
            cwd: fields.text("cwd")?,
            env: variables(fields)?,
            stdin: fields.text("stdin")?,
            recovery: recovery.unwrap_or(RecoveryPolicy::Requeue),
            yield_for: fields.millis("yield_ms")?,
        })
    }
}

fn terminal(fields: &mut ObjectFields) -> Result<Option<TerminalSize>, Refusal> {
    let wanted = fields.boolean("pty")?.unwrap_or_default();
    match fields.take("size") {
        Some(_) if !wanted => Err(usage_error("size", "needs \"pty\": true")),
        Some(value) => terminal_size(value, "size").map(Some),
        None => Ok(wanted.then_some(DEFAULT_TERMINAL_SIZE)),
    }
}

/// A terminal's size, `{"rows": 24, "cols": 80}`.
fn terminal_size(value: Value, place: &str) -> Result<TerminalSize, Refusal> {
    let mut fields = ObjectFields::from_value(value, place)?;
    let mut side = |name: &'static str| {
        let side = fields.integer(name)?.and_then(|side| u16::try_from(side).ok());
        let side = side.filter(|side| (1..=MAX_TERMINAL_DIMENSION).contains(side));
        side.ok_or_else(|| {
            usage_error(&fields.path_of(name), format!("must be a whole number from 1 to {MAX_TERMINAL_DIMENSION}"))
        })
    };
    let size = TerminalSize { rows: side("rows")?, cols: side("cols")? };
    fields.finish()?;
    Ok(size)
}

fn watchers(fields: &mut ObjectFields) -> Result<Vec<Watcher>, Refusal> {
    let list = fields.list("watch")?.unwrap_or_default();
    list.into_iter().enumerate().map(|(at, value)| watcher(value, &format!("watch[{at}]"))).collect()
}

fn watcher(value: Value, place: &str) -> Result<Watcher, Refusal> {
    let mut fields = ObjectFields::from_value(value, place)?;
    let watcher = Watcher {
        regex: fields.required_text("regex")?,
        event: match fields.parse_with("event", Label::parse)? {
            Some(event) => event,
            None => Label::parse("match")?,
        },
        once: fields.boolean("once")?.unwrap_or_default(),
        scope: fields
            .choice("scope", WatchScope::ALL.iter().map(|scope| scope.as_str()), WatchScope::parse)?
            .unwrap_or(WatchScope::Both),
    };
    fields.finish()?;
    Ok(watcher)
}

fn variables(fields: &mut ObjectFields) -> Result<Vec<(String, Option<String>)>, Refusal> {
    let Some(value) = fields.take("env") else { return Ok(Vec::new()) };
    let Value::Object(map) = value else {
        return Err(usage_error("env", format!("must be an object of strings and nulls, not {}", type_name(&value))));
    };
    let one = |(name, value): (String, Value)| {
        let place = format!("env.{}", quoted(&name));
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(usage_error(&place, "is not a valid variable name"));
        }
        match value {
            Value::Null => Ok((name, None)),
            Value::String(text) => Ok((name, Some(text))),
            other => {
                Err(usage_error(&place, format!("must be a string, or null to unset it, not {}", type_name(&other))))
            }
        }
    };
    map.into_iter().map(one).collect()
}
