//! Probes of the operations that change nothing: their answers, and how quickly they come.

use std::time::Duration;

use super::call_result::{Deviation, ProbeResult, quoted};
use super::harness::{Harness, PROBE_PROGRAM};
use super::lifecycle::start_session;
use super::probe_session::ProbeSession;
use crate::adapters::Capabilities;

/// How long an answer may take.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a query is repeated: a single slow answer may be the machine's fault.
const MAX_ATTEMPTS: usize = 3;
/// The operations that change nothing.
const READ_OPERATIONS: &[&str] =
    &["is-running", "process-alive", "get-meta", "peek", "list-running", "get-last-activity", "is-attached"];

pub(super) fn run(bench: &Harness) {
    bench.probe("protocol", "a document with version and capabilities", || protocol(bench));
    if !bench.should_probe(READ_OPERATIONS) {
        return;
    }
    let one = start_session(bench, "asked");
    let Ok(one) = &one else {
        bench.probe("process-alive", "a session to ask about", || one.map(drop));
        return;
    };
    bench.probe("process-alive", "by exact base name, also when the last line is not ended", || {
        process_alive(bench, one)
    });
    for operation in READ_OPERATIONS {
        bench.probe(operation, "an answer within 2 s, and stdout closed with it", || {
            answers_quickly(bench, one, operation)
        });
    }
    let _ = one.stop();
}

fn protocol(bench: &Harness) -> ProbeResult {
    let said = bench.call(&["protocol"], b"")?.expect_success()?;
    let document: Option<serde_json::Value> = serde_json::from_slice(&said.stdout).ok();
    let is_versioned = document.as_ref().is_some_and(|document| document["version"].is_u64());
    let lists = document.as_ref().is_some_and(|document| document["capabilities"].is_array());
    if is_versioned && lists && Capabilities::read(&said.stdout).is_ok() {
        return Ok(());
    }
    Err(Deviation::differs(r#"{"version":0,"capabilities":["…"]}"#, quoted(&said.text())))
}

fn process_alive(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    let cut = PROBE_PROGRAM.get(..PROBE_PROGRAM.len() - 1).unwrap_or_default();
    let more = format!("{PROBE_PROGRAM}-more\nx{PROBE_PROGRAM}");
    for (names, expected) in [
        (format!("{PROBE_PROGRAM}\n"), "true"),
        (PROBE_PROGRAM.to_owned(), "true"),
        (format!("fw-absent\n{PROBE_PROGRAM}"), "true"),
        (format!("{PROBE_PROGRAM}\nfw-absent\n"), "true"),
        (cut.to_owned(), "false"),
        (more, "false"),
        ("fw-absent".to_owned(), "false"),
        (".*\n*\nfw-prob.\n".to_owned(), "false"),
    ] {
        bench.call(&["process-alive", &one.name], names.as_bytes())?.expect_text(expected).map_err(
            |wrong| match wrong {
                Deviation::Differs { seen, .. } => {
                    Deviation::differs(format!("{expected} for {}", quoted(&names)), seen)
                }
                wrong => wrong,
            },
        )?;
    }
    Ok(())
}

fn answers_quickly(bench: &Harness, one: &ProbeSession<'_>, operation: &str) -> ProbeResult {
    let args: Vec<&str> = match operation {
        "get-meta" => vec![operation, &one.name, "PROBE_MARK"],
        "peek" => vec![operation, &one.name, "0"],
        _ => vec![operation, &one.name],
    };
    let mut slow = Deviation::Interrupted;
    for _ in 0..MAX_ATTEMPTS {
        match bench.call_until_eof(&args, PROBE_PROGRAM.as_bytes(), QUERY_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(wrong) => slow = wrong,
        }
    }
    match slow {
        Deviation::Differs { .. } => Err(Deviation::differs("an end of the answer within 2 s", "none in three tries")),
        slow => Err(slow),
    }
}
