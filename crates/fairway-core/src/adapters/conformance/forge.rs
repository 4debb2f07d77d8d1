//! The conformance cases of a forge script. They only read: nothing is opened, said or changed on a forge.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::call_result::{CallResult, Deviation, ProbeResult};
use crate::adapters::AdapterError;
use crate::adapters::forge::{Forge, ISSUES, OPERATIONS};
use crate::domain::pull_request::{ForgeLog, ForgeWhy, PullRequestState};
use crate::os::exit_reason::ExitReason;
use crate::wire::{AdapterCheckView, OperationCheckView, ProbeOutcome, ProbeView};

const UNKNOWN: &str = "unknown";

/// Checks a forge script. With a `number`, also asks for the state of that pull request. Returns the report and, when a probe
/// has failed, the error that names the failed operations.
pub fn check_forge(script: &Path, forge: &Forge, number: Option<i64>) -> (AdapterCheckView, Option<AdapterError>) {
    let found: Vec<OperationCheckView> = OPERATIONS
        .into_iter()
        .chain([UNKNOWN])
        .map(|operation| {
            let mut probes = Vec::new();
            let mut probe = |what: &'static str, look: &dyn Fn() -> ProbeResult| {
                let begun = Instant::now();
                let (verdict, expected, seen) = match look() {
                    Err(Deviation::Differs { expected, seen }) => (ProbeOutcome::Fail, Some(expected), Some(seen)),
                    Err(Deviation::Unsupported) => (ProbeOutcome::NotSupported, None, None),
                    _ => (ProbeOutcome::Pass, None, None),
                };
                let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                probes.push(ProbeView { what, verdict, expected, seen, duration_ms });
            };
            if operation == UNKNOWN {
                probe("an operation that is none: exit code 2", &|| {
                    ["fw-made-up", "finds", "--help-me"].into_iter().try_for_each(|word| {
                        let said = call(forge, &[word])?;
                        let is_known = said.end != ExitReason::Code(2);
                        if is_known { Err(differs(format!("exit code 2 for {word}"), &said)) } else { Ok(()) }
                    })
                });
            } else if operation == ISSUES {
                probe("a word that is none: a reason, or exit code 2", &|| {
                    let said = call(forge, &[operation, "fw-made-up"])?;
                    if said.is_unknown_operation() { Err(Deviation::Unsupported) } else { expect_reason(&said) }
                });
            } else {
                probe("without its arguments: exit code 1, with a reason", &|| {
                    expect_reason(&call(forge, &[operation])?)
                });
            }
            match operation {
                "find" => probe("a branch that is not there, also of an odd name: nothing, or a reason", &|| {
                    ["fw-no-such-branch", "-x", "a\"b$(id)`id`"].into_iter().try_for_each(|branch| {
                        let said = call(forge, &["find", branch])?;
                        let none = |said: &CallResult| matches!(said.text().trim(), "" | "null");
                        if said.end == ExitReason::Code(0) && none(&said) { Ok(()) } else { expect_reason(&said) }
                    })
                }),
                "state" => {
                    probe("a pull request that is not there: a reason", &|| {
                        expect_reason(&call(forge, &["state", "2000000000"])?)
                    });
                    probe("what is no number: a reason", &|| expect_reason(&call(forge, &["state", "../1"])?));
                    if let Some(number) = number {
                        let number = number.to_string();
                        probe("the pull request of --number: every member", &|| {
                            parse::<PullRequestState>(forge, &["state", &number])
                        });
                    }
                }
                "log" => probe("a check that is not there: a reason", &|| {
                    let said = call(forge, &["log", "2000000000"])?;
                    if said.end == ExitReason::Code(0) {
                        parse::<ForgeLog>(forge, &["log", "2000000000"])
                    } else {
                        expect_reason(&said)
                    }
                }),
                "say" => probe("a word that is none: a reason", &|| {
                    expect_reason(&call(forge, &["say", "1", "fw-made-up"])?)
                }),
                _ => {}
            }
            let has = |outcome| probes.iter().any(|one: &ProbeView| one.verdict == outcome);
            let worst = [ProbeOutcome::Fail, ProbeOutcome::NotSupported].into_iter().find(|outcome| has(*outcome));
            let verdict = worst.unwrap_or(ProbeOutcome::Pass);
            OperationCheckView { operation, verdict, probes }
        })
        .collect();
    let failed: Vec<&str> =
        found.iter().filter(|one| one.verdict == ProbeOutcome::Fail).map(|one| one.operation).collect();
    let broken = (!failed.is_empty())
        .then(|| AdapterError::ContractBroken { script: script.to_owned(), operations: failed.join(", ") });
    (AdapterCheckView { script: script.display().to_string(), passed: broken.is_none(), operations: found }, broken)
}

fn call(forge: &Forge, args: &[&str]) -> Result<CallResult, Deviation> {
    let begun = Instant::now();
    let done = forge.call(args, b"{}");
    CallResult::of(done, begun.elapsed())
}

fn differs(expected: String, said: &CallResult) -> Deviation {
    Deviation::differs(expected, said.describe())
}

fn parse<T: serde::de::DeserializeOwned>(forge: &Forge, args: &[&str]) -> ProbeResult {
    let asked = forge.ask::<T>(args, &Value::Null);
    asked.map(drop).map_err(|failure| Deviation::differs("every member of the answer", failure.message))
}

/// Exit code 1, and a JSON object with a known `why` and a message.
fn expect_reason(said: &CallResult) -> ProbeResult {
    let told: Option<Value> = serde_json::from_slice(&said.stdout).ok();
    let has = |told: &Value| {
        let is_known = told["why"].as_str().is_some_and(|why| ForgeWhy::parse(why).is_some());
        is_known && told["message"].as_str().is_some_and(|message| !message.contains(char::is_control))
    };
    let is_right = said.end == ExitReason::Code(1) && told.as_ref().is_some_and(has);
    if is_right { Ok(()) } else { Err(differs("exit code 1 and {\"why\", \"message\", \"seconds\"}".to_owned(), said)) }
}
