//! The request of `exec call`: an action with the fields that it uses.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::super::terminal_input;
use super::document::{self, ACTIONS, ExecDocument, Until, quoted, usage_error};
use super::fields::{choice, millis, seconds, session_key};
use super::spawn::{RequestedCommand, SpawnParams};
use crate::domain::job::ItemType;
use crate::domain::terminal_input::{TerminalInput, check};
use crate::domain::{Refusal, RoutingKey};
use crate::os::signals;

/// The default timeout of a call without an action.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

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
        /// How much of its output is kept, in bytes.
        max_output_bytes: Option<u64>,
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
        /// The input, in order.
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
        session: Option<RoutingKey>,
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

/// Parses an exec request. A request without an action runs a command in the foreground.
///
/// # Errors
/// `usage`, naming the field or the place of the error.
pub fn parse(text: &str) -> Result<ExecRequest, Refusal> {
    let document = document::read(text)?;
    let Some(action) = document.action.as_deref() else {
        return Ok(ExecRequest::Foreground {
            timeout: seconds("timeout_secs", document.timeout_secs.as_ref())?.unwrap_or(DEFAULT_TIMEOUT),
            cwd: document.cwd.clone(),
            max_output_bytes: document.max_output_bytes,
            what: RequestedCommand::read(document.command, document.argv)?,
        });
    };
    Ok(match action {
        "spawn" => ExecRequest::Spawn(Box::new(SpawnParams::read(document)?)),
        "poll" => ExecRequest::Poll {
            run: job_id(&document)?,
            since_seq: signed(document.since_seq),
            wait: millis("wait_ms", document.wait_ms)?,
            until: choice("until", document.until.as_deref(), Until::ALL, Until::parse)?,
        },
        "log" => ExecRequest::Log {
            run: job_id(&document)?,
            since_seq: signed(document.since_seq),
            limit: document.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            stream: choice("stream", document.stream.as_deref(), ItemType::ALL, ItemType::parse)?,
        },
        "kill" => ExecRequest::Kill {
            run: job_id(&document)?,
            signal: document.signal.as_ref().map(signal).transpose()?,
            grace: millis("grace_ms", document.grace_ms)?,
        },
        "send_keys" => ExecRequest::SendKeys { run: job_id(&document)?, keys: keys(document.keys.as_ref())? },
        "wait" => ExecRequest::Wait {
            limit: seconds("timeout_secs", document.timeout_secs.as_ref())?,
            runs: job_ids(document)?,
        },
        "list" => ExecRequest::List {
            session: session_key(document.session_id.as_deref())?,
            unfinished: document.unfinished.unwrap_or_default(),
            limit: document.limit.map(|limit| signed(Some(limit))),
        },
        "rm" => ExecRequest::Rm { runs: job_ids(document)? },
        "gc" => ExecRequest::Gc { dry_run: document.dry_run.unwrap_or_default() },
        other => return Err(usage_error("action", format!("is {}, none of {}", quoted(other), ACTIONS.join(", ")))),
    })
}

fn signed(number: Option<u64>) -> i64 {
    i64::try_from(number.unwrap_or_default()).unwrap_or(i64::MAX)
}

fn job_id(document: &ExecDocument) -> Result<String, Refusal> {
    document.run_id.clone().ok_or_else(|| usage_error("run_id", "is missing"))
}

/// One job as `run_id`, or several as `run_ids`.
fn job_ids(document: ExecDocument) -> Result<Vec<String>, Refusal> {
    match (document.run_id, document.run_ids) {
        (Some(run), None) => Ok(vec![run]),
        (None, Some(runs)) if !runs.is_empty() => Ok(runs),
        (Some(_), Some(_)) => Err(Refusal::Usage { why: "give run_id or run_ids, not both".into() }),
        (None, _) => Err(Refusal::Usage { why: "run_id or run_ids is required".into() }),
    }
}

/// A signal by name or number.
fn signal(value: &Value) -> Result<Signal, Refusal> {
    let name = match value {
        Value::String(name) => name.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(usage_error("signal", "must be a name such as \"TERM\" or a number")),
    };
    signals::parse(&name).ok_or_else(|| {
        let why = format!("is {}, which is not a signal; use a name such as \"TERM\" or a number", quoted(&name));
        usage_error("signal", why)
    })
}

fn keys(keys: Option<&Value>) -> Result<Vec<TerminalInput>, Refusal> {
    let keys = keys.ok_or_else(|| usage_error("keys", "is missing: give a text or a list of inputs"))?;
    let keys = terminal_input::parse_inputs(keys)?;
    check(&keys)?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job_output::WatchScope;

    #[test]
    fn request_with_every_field_is_read() {
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
        assert_eq!(spawn.session.as_ref().map(RoutingKey::as_str), Some("s1"));
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

    /// One tool call with every field of every action: what the action does not use may be null or anything of its type.
    #[test]
    fn fields_of_other_actions_are_ignored_and_null_is_absent() {
        let all: serde_json::Map<String, Value> = serde_json::from_str(
            r#"{"action":null,"command":null,"argv":null,"background":null,"pty":null,"size":null,"timeout_secs":null,
            "max_output_bytes":null,"watch":null,"session_id":null,"queue":null,"cwd":null,"env":null,"stdin":null,
            "recovery":null,"yield_ms":null,"run_id":null,"run_ids":null,"since_seq":null,"wait_ms":null,"until":null,
            "limit":null,"stream":null,"signal":null,"grace_ms":null,"keys":null,"unfinished":null,"dry_run":null}"#,
        )
        .unwrap();
        let others = r#"{"command":"x","background":true,"pty":false,"size":{},"max_output_bytes":7,"watch":[{}],
            "session_id":"agent:main/1","queue":"","env":{"=":"x"},"stdin":"","recovery":"","yield_ms":1,"run_id":"r",
            "since_seq":1,"until":"","stream":"","signal":{},"keys":[1],"limit":1}"#;
        let others: serde_json::Map<String, Value> = serde_json::from_str(others).unwrap();
        let without = |names: &[&str]| -> serde_json::Map<String, Value> {
            let mut all = all.clone();
            all.extend(others.clone().into_iter().filter(|(name, _)| !names.contains(&name.as_str())));
            all
        };
        let used: [(&[&str], &str); 10] = [
            (&["command", "max_output_bytes"], r#"{"command":"true"}"#),
            (
                &[
                    "command", "background", "pty", "size", "max_output_bytes", "watch", "session_id", "queue", "env",
                    "stdin", "recovery", "yield_ms",
                ],
                r#"{"action":"spawn","command":"true"}"#,
            ),
            (&["run_id", "since_seq", "until"], r#"{"action":"poll","run_id":"a"}"#),
            (&["run_id", "since_seq", "limit", "stream"], r#"{"action":"log","run_id":"a"}"#),
            (&["run_id", "signal"], r#"{"action":"kill","run_id":"a"}"#),
            (&["run_id", "keys"], r#"{"action":"send_keys","run_id":"a","keys":"x"}"#),
            (&["run_id"], r#"{"action":"wait","run_ids":["a"]}"#),
            (&["session_id", "limit"], r#"{"action":"list"}"#),
            (&["run_id"], r#"{"action":"rm","run_ids":["a"]}"#),
            (&[], r#"{"action":"gc"}"#),
        ];
        for (names, document) in used {
            let plain: serde_json::Map<String, Value> = serde_json::from_str(document).unwrap();
            let mut flat = without(names);
            flat.extend(plain.clone());
            let flat = Value::Object(flat).to_string();
            assert_eq!(parse(&flat).unwrap(), parse(document).unwrap(), "{flat}");
        }
    }

    #[test]
    fn parse_error_contains_the_field_path() {
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
            (r#"{"action":"spawn","argv":["a",2]}"#, "argv[1] must be a string, not 2"),
            (r#"{"action":"spawn","argv":[]}"#, "argv must name a program"),
            (r#"{"command":"a","timeout_sec":1}"#, "unknown field 'timeout_sec'; did you mean 'timeout_secs'?"),
            (
                r#"{"command":"a","zzz":1}"#,
                "unknown field 'zzz'; there are action, command, argv, background, check, pty, size, timeout_secs, \
                 max_output_bytes, watch, session_id, queue, cwd, env, stdin, recovery, yield_ms, run_id, run_ids, \
                 since_seq, wait_ms, until, limit, stream, signal, grace_ms, keys, unfinished, dry_run",
            ),
            (
                r#"{"command":"a","timeout_secs":0}"#,
                "timeout_secs must be more than 0 and at most a hundred years, not 0",
            ),
            (
                r#"{"command":"a","timeout_secs":1e300}"#,
                "timeout_secs must be more than 0 and at most a hundred years, not 1e+300",
            ),
            (r#"{"command":"a","timeout_secs":"1"}"#, "timeout_secs must be a number, not a string"),
            (r#"{"action":"spawn","command":"a","watch":[{"regex":"x"},{"once":true}]}"#, "watch[1].regex is missing"),
            (
                r#"{"action":"spawn","command":"a","watch":[{"regex":"x"},{"regx":"y"}]}"#,
                "unknown field 'regx' in watch[1]; did you mean 'regex'?",
            ),
            (
                r#"{"action":"spawn","command":"a","watch":[{"regex":"x","evnt":"y"}]}"#,
                "unknown field 'evnt' in watch[0]; did you mean 'event'?",
            ),
            (
                r#"{"action":"spawn","command":"a","watch":[{"regex":"x","scope":"all"}]}"#,
                "watch[0].scope is 'all', none of stdout, stderr, both",
            ),
            (r#"{"action":"spawn","command":"a","env":{"A":1}}"#, "env.A must be a string, not 1"),
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
            (r#"{"action":"kill","run_id":"r","signal":true}"#, "signal must be a name such as \"TERM\" or a number"),
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
            (r#"{"command":"a","command":"b"}"#, "field 'command' is given twice"),
            (r#"{"action":"spawn","command":"a","watch":[{"regex":"x","regex":"y"}]}"#, "field 'regex' is given twice"),
            (r#"{"action":"spawn","command":"a","pty":true,"size":[24,80]}"#, "size must be an object, not a list"),
            (
                r#"{"action":"spawn","command":"a","session_id":"a b"}"#,
                "session_id: session key 'a b' must start with a-z, A-Z or 0-9 and contain only these, '_', '-', ':' \
                 and '/', at most 128 characters",
            ),
            (r#"{"action":"rm","run_id":"a","run_ids":["b"]}"#, "give run_id or run_ids, not both"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), why, "{text}");
        }
    }

    /// Half documents, wrong types everywhere, deep nests and noise: never a panic, always a sentence of reasonable length.
    #[test]
    fn garbage_is_refused() {
        let documents = include_str!("../../../../../tests/fixtures/call.jsonl");
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
            "x".repeat(document::MAX_DOCUMENT_BYTES + 1),
        ];
        for text in deep {
            assert!(parse(&text).is_err());
        }
    }
}
