//! Probes which operations a script supports, and how it answers for a session that does not exist.

use std::fs;

use super::call_result::{CallResult, Deviation, ProbeResult};
use super::harness::Harness;
use super::operations::{OPERATIONS, REQUIRED, UNKNOWN};
use super::probe_session::ProbeSession;

/// Finds out which operations the script supports. Calls each operation for a session that does not exist and, except `start`,
/// `stop` and `attach`, also for one that does. An operation is not supported when all its calls exit with code 2. It is a
/// deviation when only one of two calls does, or when every script must support the operation.
pub(super) fn run(bench: &Harness) {
    if OPERATIONS.iter().all(|one| *one == UNKNOWN || !bench.wants(one)) {
        return;
    }
    let session = ProbeSession::of_probe(bench, "support");
    let started = session.as_ref().map_or_else(|_| Ok(()), ProbeSession::start);
    let live = session.ok().filter(|_| started.is_ok());
    bench.probe("start", "a session starts, and its program runs", || started);
    for operation in OPERATIONS.iter().copied().filter(|one| *one != UNKNOWN) {
        let missing = format!("{}-{}", bench.name_prefix, if operation == "start" { "once" } else { "missing" });
        let absent = call_operation(bench, operation, &missing);
        let present = match &live {
            // Attaching waits for a terminal; starting and stopping have their own probes.
            Some(live) if !["start", "stop", "attach"].contains(&operation) => {
                Some(call_operation(bench, operation, &live.name))
            }
            _ => None,
        };
        let is_unknown =
            |said: &Result<CallResult, Deviation>| said.as_ref().is_ok_and(CallResult::is_unknown_operation);
        let knows_neither = is_unknown(&absent) && present.as_ref().is_none_or(is_unknown);
        if knows_neither && REQUIRED.contains(&operation) {
            bench.probe(operation, "the script knows what every script must know", || {
                absent.and_then(CallResult::expect_success).map(drop)
            });
            continue;
        }
        if knows_neither {
            bench.mark_unsupported(operation);
            continue;
        }
        if operation != "start" {
            bench.probe(operation, "a session that is not there", || expect_absent(operation, absent?));
        }
        if let Some(present) = present {
            bench.probe(operation, "a session that is there", || expect_present(operation, present?));
        }
        let _ = fs::remove_file(bench.dir().join("copied"));
    }
    if let Some(live) = live {
        bench.probe("stop", "a session that is there", || live.stop());
    }
}

/// Calls an operation with all arguments that it needs.
fn call_operation(bench: &Harness, operation: &'static str, name: &str) -> Result<CallResult, Deviation> {
    let source = bench.dir().join("copied");
    let source = source.display().to_string();
    let (args, stdin): (Vec<&str>, &[u8]) = match operation {
        // With this configuration the session ends at once.
        "start" => (vec![operation, name], br#"{"command":"exit 0","lifecycle":"one_shot"}"#),
        "process-alive" => (vec![operation, name], b"fw-absent"),
        "nudge" => (vec![operation, name], b"support"),
        "send-keys" => (vec![operation, name, "Enter"], b""),
        "set-meta" => (vec![operation, name, "support"], b"value"),
        "get-meta" | "remove-meta" => (vec![operation, name, "support"], b""),
        "peek" => (vec![operation, name, "5"], b""),
        "copy-to" => {
            fs::write(&source, b"copied").map_err(|error| Deviation::differs("a file to copy", error.to_string()))?;
            (vec![operation, name, &source, "copied"], b"")
        }
        "check-image" => (vec![operation, "fw-image"], b""),
        "protocol" => (vec![operation], b""),
        _ => (vec![operation, name], b""),
    };
    bench.call(&args, stdin)
}

/// Checks an answer about a session that does not exist, as the protocol defines it.
fn expect_absent(operation: &str, said: CallResult) -> ProbeResult {
    match operation {
        "is-running" | "process-alive" | "is-attached" => said.expect_text("false"),
        "get-meta" | "peek" | "get-last-activity" | "list-running" => said.expect_text(""),
        "attach" => match said.end {
            crate::os::exit_reason::ExitReason::Code(1) => Ok(()),
            _ => Err(Deviation::differs("exit code 1", said.describe())),
        },
        _ => said.expect_success().map(drop),
    }
}

/// Checks an answer about a session that exists, as far as the answer alone allows.
fn expect_present(operation: &str, said: CallResult) -> ProbeResult {
    match operation {
        "is-running" => said.expect_text("true"),
        "process-alive" | "is-attached" => said.expect_text("false"),
        _ => said.expect_success().map(drop),
    }
}
