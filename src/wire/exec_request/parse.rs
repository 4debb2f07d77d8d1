//! What `exec call` is asked: one JSON document, an action and its fields. It is read strictly: an unknown field, a wrong type
//! or an invalid value is refused with its place.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    super::terminal_input,
    fields::{ObjectFields, quoted, type_name, usage_error},
    spawn::{RequestedCommand, SpawnParams},
};
use crate::{
    domain::{
        Refusal, SessionId,
        job::ItemType,
        string_enum::string_enum,
        terminal_input::{TerminalInput, check},
    },
    os::signals,
};

/// The longest document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// The default timeout of a call without an action.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The actions, as a sentence lists them.
const ACTIONS: &str = "spawn, poll, log, kill, send_keys, wait, list, rm, gc";

/// An action and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecRequest {
    /// No action: run it at once and answer what it printed.
    Foreground {
        /// The command.
        what: RequestedCommand,
        /// How long it may run.
        timeout: Duration,
        /// Where it runs, when not here.
        cwd: Option<String>,
    },
    /// `spawn`
    Spawn(Box<SpawnParams>),
    /// `poll`
    Poll {
        /// The run.
        run: String,
        /// Exclusive.
        since_seq: i64,
        /// How long to wait.
        wait: Option<Duration>,
        /// For what.
        until: Option<Until>,
    },
    /// `log`
    Log {
        /// The run.
        run: String,
        /// Exclusive.
        since_seq: i64,
        /// How many items.
        limit: Option<usize>,
        /// Only these.
        stream: Option<ItemType>,
    },
    /// `kill`
    Kill {
        /// The run.
        run: String,
        /// The first signal.
        signal: Option<Signal>,
        /// How long it has to end by itself.
        grace: Option<Duration>,
    },
    /// `send_keys`
    SendKeys {
        /// The run.
        run: String,
        /// What is typed, in order.
        keys: Vec<TerminalInput>,
    },
    /// `wait`
    Wait {
        /// The runs.
        runs: Vec<String>,
        /// How long at most.
        limit: Option<Duration>,
    },
    /// `list`
    List {
        /// Only those of this session.
        session: Option<SessionId>,
        /// Only those that have not ended.
        unfinished: bool,
        /// How many.
        limit: Option<i64>,
    },
    /// `rm`
    Rm {
        /// The runs.
        runs: Vec<String>,
    },
    /// `gc`
    Gc {
        /// Only say what would go.
        dry_run: bool,
    },
}

string_enum! {
    /// What a `poll` waits for.
    Until { Exit => "exit", Output => "output", Event => "event" }
}

/// Reads a document.
///
/// # Errors
/// `usage`, naming the place.
pub fn parse(text: &str) -> Result<ExecRequest, Refusal> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(usage_error("the document", format!("is longer than {MAX_DOCUMENT_BYTES} bytes")));
    }
    // The reader has a limit on depth of its own.
    let value: Value = serde_json::from_str(text)
        .map_err(|error| usage_error("the document", format!("is not valid JSON: {error}")))?;
    let mut fields = ObjectFields::from_value(value, "")?;
    let Some(action) = fields.text("action")? else { return foreground(fields) };
    let call = match action.as_str() {
        "spawn" => ExecRequest::Spawn(Box::new(SpawnParams::read(&mut fields)?)),
        "poll" => ExecRequest::Poll {
            run: fields.required_text("run_id")?,
            since_seq: fields.integer("since_seq")?.unwrap_or_default(),
            wait: fields.millis("wait_ms")?,
            until: fields.choice("until", Until::ALL.iter().map(|until| until.as_str()), Until::parse)?,
        },
        "log" => ExecRequest::Log {
            run: fields.required_text("run_id")?,
            since_seq: fields.integer("since_seq")?.unwrap_or_default(),
            limit: fields.integer("limit")?.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            stream: fields.choice("stream", ItemType::ALL.iter().map(|kind| kind.as_str()), ItemType::parse)?,
        },
        "kill" => ExecRequest::Kill {
            run: fields.required_text("run_id")?,
            signal: signal(&mut fields)?,
            grace: fields.millis("grace_ms")?,
        },
        "send_keys" => ExecRequest::SendKeys { run: fields.required_text("run_id")?, keys: keys(&mut fields)? },
        "wait" => ExecRequest::Wait { runs: job_ids(&mut fields)?, limit: fields.seconds("timeout_secs")? },
        "list" => ExecRequest::List {
            session: fields.parse_with("session_id", SessionId::parse)?,
            unfinished: fields.boolean("unfinished")?.unwrap_or_default(),
            limit: fields.integer("limit")?,
        },
        "rm" => ExecRequest::Rm { runs: job_ids(&mut fields)? },
        "gc" => ExecRequest::Gc { dry_run: fields.boolean("dry_run")?.unwrap_or_default() },
        other => return Err(usage_error("action", format!("is {}, none of {ACTIONS}", quoted(other)))),
    };
    fields.finish()?;
    Ok(call)
}

fn foreground(mut fields: ObjectFields) -> Result<ExecRequest, Refusal> {
    let what = RequestedCommand::read(&mut fields)?;
    let timeout = fields.seconds("timeout_secs")?.unwrap_or(DEFAULT_TIMEOUT);
    let cwd = fields.text("cwd")?;
    fields.finish()?;
    Ok(ExecRequest::Foreground { what, timeout, cwd })
}

/// A signal by name or number.
fn signal(fields: &mut ObjectFields) -> Result<Option<Signal>, Refusal> {
    let name = match fields.take("signal") {
        None => return Ok(None),
        Some(Value::String(name)) => name,
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => {
            return Err(usage_error(
                "signal",
                format!("must be a name such as \"TERM\" or a number, not {}", type_name(&other)),
            ));
        }
    };
    let signal = signals::parse(&name).map(Some);
    signal.ok_or_else(|| {
        usage_error(
            "signal",
            format!("is {}, which is not a signal; use a name such as \"TERM\" or a number", quoted(&name)),
        )
    })
}

fn keys(fields: &mut ObjectFields) -> Result<Vec<TerminalInput>, Refusal> {
    let keys = fields.take("keys").ok_or_else(|| usage_error("keys", "is missing: give a text or a list of inputs"))?;
    let keys = terminal_input::parse_inputs(&keys)?;
    check(&keys)?;
    Ok(keys)
}

/// One run as `run_id`, or several as `run_ids`.
fn job_ids(fields: &mut ObjectFields) -> Result<Vec<String>, Refusal> {
    match (fields.text("run_id")?, fields.text_list("run_ids")?) {
        (Some(run), None) => Ok(vec![run]),
        (None, Some(runs)) if !runs.is_empty() => Ok(runs),
        (Some(_), Some(_)) => Err(Refusal::Usage { why: "give run_id or run_ids, not both".into() }),
        (None, _) => Err(Refusal::Usage { why: "run_id or run_ids is required".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::watcher::WatchScope;

    #[test]
    fn every_field_arrives() {
        let text = r#"{"action":"spawn","command":"make","background":false,"pty":true,"size":{"rows":50,"cols":200},
            "timeout_secs":1.5,"max_output_bytes":4096,"watch":[{"regex":"err","event":"error","once":true,"scope":"stderr"},
            {"regex":"x"}],"session_id":"s1","queue":"","cwd":"sub","env":{"A":"b","C":null},"stdin":"in",
            "recovery":"lost","yield_ms":250}"#;
        let ExecRequest::Spawn(spawn) = parse(text).unwrap() else { panic!("not spawn") };
        assert_eq!(spawn.command, RequestedCommand::Shell("make".into()));
        assert!(!spawn.background);
        assert_eq!(spawn.pty.map(|size| (size.rows, size.cols)), Some((50, 200)));
        assert_eq!(spawn.timeout, Some(Duration::from_millis(1500)));
        assert_eq!(spawn.max_output_bytes, Some(4096));
        let watchers: Vec<_> =
            spawn.watch.iter().map(|one| (one.regex.as_str(), one.event.as_str(), one.once, one.scope)).collect();
        assert_eq!(watchers, [("err", "error", true, WatchScope::Stderr), ("x", "match", false, WatchScope::Both)]);
        assert_eq!(spawn.session.as_ref().map(SessionId::as_str), Some("s1"));
        assert_eq!(spawn.queue.as_deref(), Some(""));
        assert_eq!(spawn.cwd.as_deref(), Some("sub"));
        assert_eq!(spawn.env, [("A".into(), Some("b".into())), ("C".into(), None)]);
        assert_eq!(spawn.stdin.as_deref(), Some("in"));
        assert_eq!(spawn.recovery.as_str(), "lost");
        assert_eq!(spawn.yield_for, Some(Duration::from_millis(250)));
    }

    #[test]
    fn omitted_fields_have_defaults() {
        let ExecRequest::Spawn(spawn) = parse(r#"{"action":"spawn","argv":["a"],"pty":null}"#).unwrap() else {
            panic!()
        };
        assert_eq!(spawn.command, RequestedCommand::Argv(vec!["a".into()]));
        assert!(spawn.background && spawn.pty.is_none() && spawn.timeout.is_none() && spawn.watch.is_empty());
        assert_eq!(spawn.recovery.as_str(), "requeue");
        let ExecRequest::Foreground { timeout, .. } = parse(r#"{"command":"true"}"#).unwrap() else { panic!() };
        assert_eq!(timeout, Duration::from_secs(60));
        let keys = r#"{"action":"send_keys","run_id":"r","keys":"C-c\n"}"#;
        let literal = ExecRequest::SendKeys { run: "r".into(), keys: vec![TerminalInput::Text("C-c\n".into())] };
        assert_eq!(parse(keys).unwrap(), literal);
    }

    #[test]
    fn a_no_names_the_place() {
        for (text, why) in [
            ("", "the document is not valid JSON: EOF while parsing a value at line 1 column 0"),
            ("[]", "the document must be an object, not a list"),
            ("{}", "command or argv is required"),
            (r#"{"action":1}"#, "action must be a string, not 1"),
            (
                r#"{"action":"spwan"}"#,
                "action is 'spwan', none of spawn, poll, log, kill, send_keys, wait, list, rm, gc",
            ),
            (
                r#"{"action":"spawn","command":"a","argv":["b"]}"#,
                "command and argv exclude each other; give one of them",
            ),
            (r#"{"action":"spawn","argv":["a",2]}"#, "argv[1] must be a string, not a number"),
            (r#"{"action":"spawn","argv":[]}"#, "argv must name a program"),
            (r#"{"command":"a","timeout_sec":1}"#, "unknown field 'timeout_sec'; did you mean 'timeout_secs'?"),
            (r#"{"command":"a","zzz":1}"#, "unknown field 'zzz'; there are action, command, argv, timeout_secs, cwd"),
            (
                r#"{"command":"a","timeout_secs":0}"#,
                "timeout_secs must be more than 0 and at most a hundred years, not 0",
            ),
            (
                r#"{"command":"a","timeout_secs":1e300}"#,
                "timeout_secs must be more than 0 and at most a hundred years, not 1e+300",
            ),
            (r#"{"command":"a","timeout_secs":"1"}"#, "timeout_secs must be a number of seconds, not a string"),
            (r#"{"action":"spawn","command":"a","watch":[{"regex":"x"},{"regx":"y"}]}"#, "watch[1].regex is missing"),
            (
                r#"{"action":"spawn","command":"a","watch":[{"regex":"x","evnt":"y"}]}"#,
                "unknown field 'evnt' in watch[0]; did you mean 'event'?",
            ),
            (
                r#"{"action":"spawn","command":"a","watch":[{"regex":"x","scope":"all"}]}"#,
                "watch[0].scope is 'all', none of stdout, stderr, both",
            ),
            (
                r#"{"action":"spawn","command":"a","env":{"A":1}}"#,
                "env.'A' must be a string, or null to unset it, not a number",
            ),
            (r#"{"action":"spawn","command":"a","env":{"A=B":"c"}}"#, "env.'A=B' is not a valid variable name"),
            (r#"{"action":"spawn","command":"a","size":{"rows":1,"cols":1}}"#, "size needs \"pty\": true"),
            (
                r#"{"action":"spawn","command":"a","pty":true,"size":{"rows":0,"cols":1}}"#,
                "size.rows must be a whole number from 1 to 10000",
            ),
            (r#"{"action":"spawn","command":"a","yield_ms":1.5}"#, "yield_ms must be a whole number from 0, not 1.5"),
            (r#"{"action":"poll"}"#, "run_id is missing"),
            (r#"{"action":"poll","run_id":"r","since_seq":-1}"#, "since_seq must be a whole number from 0, not -1"),
            (r#"{"action":"poll","run_id":"r","until":"end"}"#, "until is 'end', none of exit, output, event"),
            (
                r#"{"action":"kill","run_id":"r","signal":true}"#,
                "signal must be a name such as \"TERM\" or a number, not true or false",
            ),
            (
                r#"{"action":"kill","run_id":"r","signal":"TRM"}"#,
                "signal is 'TRM', which is not a signal; use a name such as \"TERM\" or a number",
            ),
            (
                r#"{"action":"send_keys","run_id":"r","keys":[{"text":"a","key":"Enter"}]}"#,
                "keys[0]: must be an object with one of text, key, paste, hex, eof, size",
            ),
            (
                r#"{"action":"send_keys","run_id":"r","keys":[{"key":"Entr"}]}"#,
                "keys[0]: 'Entr' is not a key; use tmux key names such as Enter, C-c, M-x, S-Up or F5",
            ),
            (r#"{"action":"wait"}"#, "run_id or run_ids is required"),
            (r#"{"action":"rm","run_id":"a","run_ids":["b"]}"#, "give run_id or run_ids, not both"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), why, "{text}");
        }
    }

    /// Half documents, wrong types everywhere, deep nests and noise: never a panic, always a sentence of reasonable length.
    #[test]
    fn garbage_is_refused() {
        let documents = include_str!("../../../tests/fixtures/call.jsonl");
        let mut refused = 0;
        for good in documents.lines() {
            assert!(parse(good).is_ok(), "{good}: {:?}", parse(good));
            let mut tried: Vec<String> = Vec::new();
            // Every beginning of it, and every byte of it as another one.
            for at in (0..good.len()).filter(|at| good.is_char_boundary(*at)).step_by(2) {
                let (head, tail) = good.split_at(at);
                tried.push(head.to_owned());
                for noise in ["\0", "\"", "{", "[", "9", "-", "\\", "\u{202e}", "null"] {
                    let rest: String = tail.chars().skip(1).collect();
                    tried.push(format!("{head}{noise}{rest}"));
                    tried.push(format!("{head}{noise}{tail}"));
                }
            }
            // Every value of it as one of every other sort.
            let document: Value = serde_json::from_str(good).unwrap();
            for name in document.as_object().unwrap().keys() {
                for other in
                    ["null", "true", "-1", "1e400", "1.5", "\"\"", "\"\\u0000\"", "[]", "[[]]", "{}", "{\"a\":{}}"]
                {
                    let Ok(other) = serde_json::from_str::<Value>(other) else { continue };
                    let mut changed = document.clone();
                    changed[name.as_str()] = other;
                    tried.push(changed.to_string());
                }
            }
            for text in tried {
                if let Err(refusal) = parse(&text) {
                    refused += 1;
                    assert_eq!(refusal.code(), "usage", "{text}");
                    let said = refusal.to_string();
                    assert!(said.chars().count() < 400 && !said.contains('\0'), "{text}: {said}");
                }
            }
        }
        assert!(refused > 5_000, "{refused}");
        let deep = [
            "[".repeat(100_000),
            format!("{{\"action\":{}", "{\"a\":".repeat(100_000)),
            "x".repeat(MAX_DOCUMENT_BYTES + 1),
        ];
        for text in deep {
            assert!(parse(&text).is_err());
        }
    }
}
