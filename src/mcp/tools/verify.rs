//! `verify`: a check or a command as observed evidence.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::next::one_line;
use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::calls::Printed;
use crate::mcp::reply::Reply;
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;
use fairway_core::domain::quote::{Mark, quote};
use fairway_core::domain::text_limits::MAX_BODY_BYTES;

/// The command's note on stderr for evidence without a commit.
const NO_COMMIT: &str = "no commit recorded: there is none, or the worktree has changes";
/// The longest word of a command line: the kernel's limit without the NUL byte.
const MAX_WORD_BYTES: usize = (128 << 10) - 1;
/// The longest time that a caller may ask for: a child of the server ends after a day.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;
/// How many of the last lines of the output the text has.
const MAX_OUTPUT_LINES: usize = 8;

tool! {
    name: "verify",
    title: "Run a check",
    description: "Run a check of your task, or a command, in the worktree of its lane and record the result as evidence. Fairway \
                  itself observes the result. Waits until the program has ended.",
    effect: Runs,
    arguments: {
        /// Name of a check of the task.
        check: Option<String>,
        /// In place of a check: program and arguments, without a shell.
        command: Option<Vec<String>>,
        /// Task id; default: your claimed task.
        task: Option<String>,
        /// Kind of evidence; default: test.
        kind: Option<String>,
        /// Summary in one line.
        summary: Option<String>,
        /// Kill the program after so many seconds; it has then failed.
        timeout_seconds: Option<u64>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    let session = call.session(TOOL.name)?;
    let task = call.task(asked.task.as_deref())?;
    if asked.timeout_seconds.is_some_and(|seconds| !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds)) {
        return Err(Refusal::invalid("timeout_seconds", format!("must be from 1 to {MAX_TIMEOUT_SECONDS}")).into());
    }
    let mut args: Vec<OsString> = vec!["evidence".into(), "run".into(), task.as_str().into()];
    let mut option = |name: &str, value: Option<String>| {
        // In one word: a value may begin with a hyphen.
        args.extend(value.map(|value| OsString::from(format!("--{name}={value}"))));
    };
    option("kind", asked.kind.as_deref().map(Label::parse).transpose()?.map(|kind| kind.to_string()));
    option("summary", asked.summary);
    option("timeout", asked.timeout_seconds.map(|seconds| format!("{seconds}s")));
    match (asked.check, asked.command) {
        (Some(check), None) => option("check", Some(Label::parse(&check)?.to_string())),
        (None, Some(command)) if !command.is_empty() => {
            call.check_guard(session, TOOL.name, json!(command), None)?;
            args.push("--".into());
            args.extend(command.into_iter().map(OsString::from));
        }
        _ => return Err(Refusal::Usage { why: "give a check, or a command as a list of words".into() }.into()),
    }
    can_be_passed(&args)?;
    // The child opens the store itself.
    Ok(match call.children.run(call.calls.command(), &args, b"")? {
        Printed::Error(error) => Outcome::Error(error),
        Printed::Document(document, stderr) => Reply::new(text(&document, &stderr), document).into(),
    })
}

/// Refuses arguments that the kernel cannot pass to a program.
fn can_be_passed(args: &[OsString]) -> Result<(), Refusal> {
    if args.iter().any(|word| word.as_bytes().contains(&0)) {
        return Err(Refusal::Usage { why: "a word of the command contains a NUL byte".into() });
    }
    let longest = args.iter().map(|word| word.len()).max().unwrap_or_default();
    if longest > MAX_WORD_BYTES {
        let why = format!("a word of the command is {longest} bytes long; the limit is {MAX_WORD_BYTES}");
        return Err(Refusal::Usage { why });
    }
    let all: usize = args.iter().map(|word| word.len()).sum();
    if all > MAX_BODY_BYTES {
        return Err(Refusal::invalid("command", format!("is {all} bytes long; the limit is {MAX_BODY_BYTES}")));
    }
    Ok(())
}

fn text(document: &Value, output: &str) -> String {
    let field = |name: &str| document.get(name).and_then(Value::as_str);
    let number = |name: &str| document.get(name).and_then(Value::as_i64);
    let result = if field("result") == Some("pass") { "passed" } else { "failed" };
    let exit = number("exit_code").map_or("was ended".to_owned(), |code| format!("exit {code}"));
    let mut text = format!(
        "{result}: {exit}; recorded as evidence {} on {}\n",
        number("id").unwrap_or_default(),
        field("task_id").unwrap_or_default()
    );
    if let Some(summary) = field("summary") {
        text.push_str(&quote(&one_line(summary), Mark::Data));
    }
    if field("commit").is_none() {
        let _ = writeln!(text, "note: {NO_COMMIT}");
    }
    let is_note = |line: &str| line == NO_COMMIT;
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty() && !is_note(line)).collect();
    let lines = lines.get(lines.len().saturating_sub(MAX_OUTPUT_LINES)..).unwrap_or_default();
    if !lines.is_empty() {
        text.push_str("the end of the output:\n");
        for line in lines {
            text.push_str(&quote(&one_line(line), Mark::Data));
        }
    }
    text
}
