//! Probes of exit code 2: it must mean "unknown operation" and nothing else.

use super::call_result::{Deviation, ProbeResult};
use super::harness::Harness;
use super::operations::{OPERATIONS, UNKNOWN};
use crate::os::exit_reason::ExitReason;

pub(super) fn run(bench: &Harness) {
    bench.probe(UNKNOWN, "an operation that is none: exit code 2", || unknown_operation(bench));
    for operation in OPERATIONS.iter().copied().filter(|one| ![UNKNOWN, "protocol", "check-image"].contains(one)) {
        bench.probe(operation, "without its arguments: an answer, and not exit code 2", || {
            without_arguments(bench, operation)
        });
    }
}

fn unknown_operation(bench: &Harness) -> ProbeResult {
    let name = format!("{}-unknown", bench.name_prefix);
    for operation in ["fw-made-up", "starts", "--help-me"] {
        let said = bench.call(&[operation, &name], b"")?;
        if said.end != ExitReason::Code(2) {
            return Err(Deviation::differs(format!("exit code 2 for {operation}"), said.describe()));
        }
    }
    Ok(())
}

fn without_arguments(bench: &Harness, operation: &str) -> ProbeResult {
    let name = format!("{}-bare", bench.name_prefix);
    let mut calls = vec![vec![operation]];
    if ["set-meta", "get-meta", "remove-meta", "peek", "copy-to", "send-keys"].contains(&operation) {
        calls.push(vec![operation, &name]);
    }
    for args in calls {
        let said = bench.call(&args, b"")?;
        if said.is_unknown_operation() {
            return Err(Deviation::differs(format!("another exit code for `{}`", args.join(" ")), said.describe()));
        }
    }
    Ok(())
}
