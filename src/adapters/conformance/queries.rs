//! Questions: which programs run, what the script can do, and how quickly it answers.

use std::time::Duration;

use super::{
    call_result::{Seen, Wrong, quoted},
    harness::{AGENT, Bench},
    lifecycle::started,
    probe_session::Session,
};
use crate::adapters::Capabilities;

/// How long a question may take.
const QUICK: Duration = Duration::from_secs(2);
/// How often it is asked: one slow answer may be the machine's.
const TRIES: usize = 3;
/// What only looks.
const READS: &[&str] =
    &["is-running", "process-alive", "get-meta", "peek", "list-running", "get-last-activity", "is-attached"];

pub(super) fn look(bench: &Bench) {
    bench.probe("protocol", "a document with version and capabilities", || protocol(bench));
    if !bench.tries(READS) {
        return;
    }
    let one = started(bench, "asked");
    let Ok(one) = &one else {
        bench.probe("process-alive", "a session to ask about", || one.map(drop));
        return;
    };
    bench.probe("process-alive", "by exact base name, also when the last line is not ended", || alive(bench, one));
    for operation in READS {
        bench.probe(operation, "an answer within 2 s that nobody holds open", || quick(bench, one, operation));
    }
    let _ = one.stop();
}

fn protocol(bench: &Bench) -> Seen {
    let said = bench.call(&["protocol"], b"")?.ok()?;
    let document: Option<serde_json::Value> = serde_json::from_slice(&said.stdout).ok();
    let is_versioned = document.as_ref().is_some_and(|document| document["version"].is_u64());
    let lists = document.as_ref().is_some_and(|document| document["capabilities"].is_array());
    if is_versioned && lists && Capabilities::read(&said.stdout).is_ok() {
        return Ok(());
    }
    Err(Wrong::differs(r#"{"version":0,"capabilities":["…"]}"#, quoted(&said.text())))
}

fn alive(bench: &Bench, one: &Session<'_>) -> Seen {
    let cut = AGENT.get(..AGENT.len() - 1).unwrap_or_default();
    let more = format!("{AGENT}-more\nx{AGENT}");
    for (names, expected) in [
        (format!("{AGENT}\n"), "true"),
        (AGENT.to_owned(), "true"),
        (format!("fw-nobody\n{AGENT}"), "true"),
        (format!("{AGENT}\nfw-nobody\n"), "true"),
        (cut.to_owned(), "false"),
        (more, "false"),
        ("fw-nobody".to_owned(), "false"),
        (".*\n*\nfw-prob.\n".to_owned(), "false"),
    ] {
        bench.call(&["process-alive", &one.name], names.as_bytes())?.says(expected).map_err(|wrong| match wrong {
            Wrong::Differs { seen, .. } => Wrong::differs(format!("{expected} for {}", quoted(&names)), seen),
            wrong => wrong,
        })?;
    }
    Ok(())
}

fn quick(bench: &Bench, one: &Session<'_>, operation: &str) -> Seen {
    let args: Vec<&str> = match operation {
        "get-meta" => vec![operation, &one.name, "PROBE_MARK"],
        "peek" => vec![operation, &one.name, "0"],
        _ => vec![operation, &one.name],
    };
    let mut slow = Wrong::Stopped;
    for _ in 0..TRIES {
        match bench.call_to_the_end(&args, AGENT.as_bytes(), QUICK) {
            Ok(_) => return Ok(()),
            Err(wrong) => slow = wrong,
        }
    }
    match slow {
        Wrong::Differs { .. } => Err(Wrong::differs("an end of the answer within 2 s", "none in three tries")),
        slow => Err(slow),
    }
}
