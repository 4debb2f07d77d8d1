//! Exit code 2 means "not known", and nothing else does by accident.

use super::{
    OPERATIONS, UNKNOWN,
    call_result::{Seen, Wrong},
    harness::Bench,
};
use crate::os::capture::End;

pub(super) fn look(bench: &Bench) {
    bench.probe(UNKNOWN, "an operation that is none: exit code 2", || unknown(bench));
    for operation in OPERATIONS.iter().copied().filter(|one| ![UNKNOWN, "protocol", "check-image"].contains(one)) {
        bench.probe(operation, "without its arguments: an answer, and not exit code 2", || bare(bench, operation));
    }
}

fn unknown(bench: &Bench) -> Seen {
    let name = format!("{}-unknown", bench.base);
    for operation in ["fw-made-up", "starts", "--help-me"] {
        let said = bench.call(&[operation, &name], b"")?;
        if said.end != End::Exit(2) {
            return Err(Wrong::differs(format!("exit code 2 for {operation}"), said.told()));
        }
    }
    Ok(())
}

fn bare(bench: &Bench, operation: &str) -> Seen {
    let name = format!("{}-bare", bench.base);
    let mut calls = vec![vec![operation]];
    if ["set-meta", "get-meta", "remove-meta", "peek", "copy-to", "send-keys"].contains(&operation) {
        calls.push(vec![operation, &name]);
    }
    for args in calls {
        let said = bench.call(&args, b"")?;
        if said.is_unknown() {
            return Err(Wrong::differs(format!("another exit code for `{}`", args.join(" ")), said.told()));
        }
    }
    Ok(())
}
