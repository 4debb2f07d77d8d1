//! `run`: commands and background jobs. Its arguments are the document of `exec call`, and its schema is that of its type.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::next::one_line;
use super::tool::{self, Effect, Outcome, Tool, ToolCall};
use crate::mcp::calls::Printed;
use crate::mcp::reply::Reply;
use fairway_core::domain::Refusal;
use fairway_core::domain::quote::{Mark, quote};
use fairway_core::domain::terminal_input::TerminalInput;
use fairway_core::wire::exec_request::{self, ExecDocument, ExecRequest, RequestedCommand};

/// How many of the last lines of the output the text has.
const MAX_OUTPUT_LINES: usize = 10;
/// The delimiter of the here-document in which the guard sees a command's stdin.
const STDIN_END: &str = "END_OF_THE_INPUT";

pub(super) const TOOL: Tool = Tool {
    name: "run",
    title: "Run commands as jobs",
    description: "Run a command. Without an action: run it now and answer with its output, at most a minute. spawn: start a \
                  background job and answer with its run_id. poll: state and new output of a job. log: its output. wait, kill, \
                  send_keys: as they say. list: the jobs. rm, gc: delete ended ones.",
    schema: tool::arguments_schema::<ExecDocument>,
    effect: Effect::Runs,
    call,
};

/// Fields of `spawn` that change how its command runs.
const SPAWN_ONLY: [&str; 5] = ["env", "stdin", "pty", "queue", "yield_ms"];

/// Refuses a field of `spawn` without that action: `exec call` would run the command now and ignore the field.
fn check(document: &Value) -> Result<(), Refusal> {
    let is_given =
        |name: &str| document.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)));
    match SPAWN_ONLY.iter().find(|name| !is_given("action") && is_given(name)) {
        Some(name) => Err(Refusal::Usage { why: format!("{name} belongs to the action spawn") }),
        None => Ok(()),
    }
}

fn call(call: &ToolCall<'_>) -> Result<Outcome> {
    let document = call.arguments.to_string();
    let request = exec_request::parse(&document)?;
    check(&call.arguments)?;
    let is_reading = matches!(
        request,
        ExecRequest::Poll { .. } | ExecRequest::Log { .. } | ExecRequest::Wait { .. } | ExecRequest::List { .. }
    );
    if !is_reading {
        let session = call.session(TOOL.name)?;
        if let Some((command, cwd)) = guarded(&request) {
            call.check_guard(session, TOOL.name, json!(command), cwd)?;
        }
    }
    let args = ["exec", "call", "--file", "-"].map(Into::into);
    Ok(match call.children.run(call.calls.command(), &args, document.as_bytes())? {
        Printed::Error(error) => Outcome::Error(error),
        Printed::Document(document, _) => Reply::new(text(&document), document).into(),
    })
}

/// The shell text that the guard judges, with the command's variables and stdin, and its directory. `None` for a request that
/// runs nothing.
fn guarded(request: &ExecRequest) -> Option<(String, Option<&str>)> {
    match request {
        ExecRequest::Foreground { what, cwd, .. } => Some((typed(what), cwd.as_deref())),
        ExecRequest::Spawn(spawn) => {
            let variables = spawn.env.iter().map(|(name, value)| match value {
                Some(value) => format!("export {name}={}\n", shell_words::quote(value)),
                None => format!("unset {name}\n"),
            });
            let mut text: String = variables.collect();
            text.push_str(&typed(&spawn.command));
            if let Some(stdin) = &spawn.stdin {
                let _ = write!(text, " <<'{STDIN_END}'\n{stdin}\n{STDIN_END}\n");
            }
            Some((text, spawn.cwd.as_deref()))
        }
        ExecRequest::SendKeys { keys, .. } => {
            let texts = keys.iter().filter_map(|input| match input {
                TerminalInput::Text(text) | TerminalInput::Paste(text) => Some(text.as_str()),
                _ => None,
            });
            let text = texts.collect::<Vec<_>>().join("\n");
            (!text.trim().is_empty()).then_some((text, None))
        }
        _ => None,
    }
}

fn typed(command: &RequestedCommand) -> String {
    match command {
        RequestedCommand::Shell(text) => text.clone(),
        RequestedCommand::Argv(argv) => shell_words::join(argv),
    }
}

fn text(document: &Value) -> String {
    let field = |name: &str| document.get(name).and_then(Value::as_str);
    if let Some(jobs) = document.as_array() {
        let lines = jobs.iter().map(|job| {
            let field = |name: &str| one_line(job.get(name).and_then(Value::as_str).unwrap_or_default());
            format!("{} {}\n{}", field("run_id"), field("status"), quote(&field("command"), Mark::Data))
        });
        let text: String = lines.collect();
        return if text.is_empty() { "no jobs".to_owned() } else { text };
    }
    let mut head = Vec::new();
    if let Some(success) = document.get("success").and_then(Value::as_bool) {
        head.push(if success { "succeeded" } else { "failed" }.to_owned());
    }
    for name in ["run_id", "status", "exit_code", "next_seq", "error", "error_message"] {
        match document.get(name) {
            Some(Value::String(text)) => head.push(format!("{name} {}", one_line(text))),
            Some(Value::Number(number)) => head.push(format!("{name} {number}")),
            _ => {}
        }
    }
    let mut text = format!("{}\n", head.join(", "));
    let items = document.get("items").and_then(Value::as_array).into_iter().flatten();
    let mut new = String::new();
    for item in items {
        // An event stands on a line of its own, also behind output without an end of line.
        let is_event = item.get("type").and_then(Value::as_str) == Some("event");
        let end = if is_event { "\n" } else { "" };
        let _ = write!(new, "{end}{}{end}", item.get("payload").and_then(Value::as_str).unwrap_or_default());
    }
    let output = field("output").map_or(new, str::to_owned);
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(MAX_OUTPUT_LINES)..).unwrap_or_default();
    for line in last {
        text.push_str(&quote(&one_line(line), Mark::Data));
    }
    text
}
