//! Probes with names that begin with one another: an operation on one session must never affect another one.

use std::collections::BTreeSet;

use super::call_result::{CallResult, Deviation, ProbeResult, quoted};
use super::harness::{Harness, PROBE_PROGRAM};
use super::input;
use super::probe_session::ProbeSession;

const TAGS: [&str; 4] = ["a", "ab", "a-1", "a-10"];
const OPERATIONS: &[&str] = &[
    "stop", "is-running", "list-running", "nudge", "send-keys", "interrupt", "set-meta", "get-meta", "peek",
    "process-alive",
];

pub(super) fn run(bench: &Harness) {
    if !bench.should_probe(OPERATIONS) {
        return;
    }
    let mut all = Vec::new();
    for tag in TAGS {
        let prompt = format!("this is {tag}.");
        let one = ProbeSession::with_args(bench, tag, &["--prompt", &prompt], &[]);
        match one.and_then(|one| one.start().map(|()| one)) {
            Ok(one) => all.push(one),
            Err(wrong) => {
                bench.probe("start", "names that begin with one another", || Err(wrong));
                return;
            }
        }
    }
    bench.probe("list-running", "exactly the running sessions of a prefix", || lists_running(bench, &all));
    bench.probe("nudge", "the right one of names that begin with one another", || nudged(bench, &all));
    bench.probe("send-keys", "the right one of names that begin with one another", || {
        reaches_only(bench, "send-keys", &all, |name| {
            bench.call(&["send-keys", name, "Enter"], b"")?.expect_success().map(|_| "\n".to_owned())
        })
    });
    bench.probe("interrupt", "the right one of names that begin with one another", || interrupted(bench, &all));
    bench.probe("set-meta", "the right one of names that begin with one another", || stores_meta(bench, &all));
    bench.probe("peek", "the right one of names that begin with one another", || peeked(bench, &all));
    bench.probe("process-alive", "not by the beginning of a session's name", || {
        bench.call(&["process-alive", &prefix(bench)], PROBE_PROGRAM.as_bytes())?.expect_text("false")
    });
    bench.probe("is-running", "not by the beginning of a session's name", || {
        bench.call(&["is-running", &prefix(bench)], b"")?.expect_text("false")
    });
    bench.probe("stop", "the right one of names that begin with one another", || stopped(bench, &all));
    drop(all);
    bench.probe("list-running", "nothing, and exit code 0, when none runs", || {
        bench.call(&["list-running", &format!("{}-a", bench.name_prefix)], b"")?.expect_text("")
    });
}

/// The common beginning of all names here; no session has it as its name.
fn prefix(bench: &Harness) -> String {
    format!("{}-", bench.name_prefix)
}

fn listed_names(said: &CallResult) -> Vec<String> {
    said.text().lines().map(str::to_owned).collect()
}

fn lists_running(bench: &Harness, all: &[ProbeSession<'_>]) -> ProbeResult {
    let list = |prefix: &str, expected: &[&ProbeSession<'_>]| {
        let said = bench.call(&["list-running", prefix], b"")?.expect_success()?;
        let listed = listed_names(&said);
        let found: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let wanted: BTreeSet<&str> = expected.iter().map(|one| one.name.as_str()).collect();
        if found == wanted && listed.len() == wanted.len() {
            return Ok(());
        }
        let wanted = wanted.into_iter().collect::<Vec<_>>().join(", ");
        Err(Deviation::differs(format!("for {}: {wanted}", quoted(prefix)), quoted(&said.text())))
    };
    for one in all {
        let begin: Vec<&ProbeSession<'_>> = all.iter().filter(|other| other.name.starts_with(&one.name)).collect();
        list(&one.name, &begin)?;
    }
    list(&format!("{}-a-1000", bench.name_prefix), &[])?;
    // Other users of the script may have sessions too.
    let every = listed_names(&bench.call(&["list-running", ""], b"")?.expect_success()?);
    match all.iter().find(|one| !every.contains(&one.name)) {
        Some(one) => Err(Deviation::differs(format!("{} among all", one.name), every.join(", "))),
        None => Ok(()),
    }
}

/// Performs an operation on names without a session, then on each session. `act` returns the text that must arrive, and only the
/// session named may get it.
fn reaches_only(
    bench: &Harness,
    operation: &'static str,
    all: &[ProbeSession<'_>],
    act: impl Fn(&str) -> Result<String, Deviation>,
) -> ProbeResult {
    for name in [prefix(bench), format!("{}-a-", bench.name_prefix), format!("{}-A", bench.name_prefix)] {
        act(&name)?;
    }
    for one in all {
        let text = act(&one.name)?;
        input::expect_input(bench, operation, one, &text)?;
    }
    check_no_other_input(all)
}

/// Checks that no session has input that was not read yet.
fn check_no_other_input(all: &[ProbeSession<'_>]) -> ProbeResult {
    for one in all {
        let unread = one.unread_input();
        if !unread.is_empty() {
            let text = String::from_utf8_lossy(&unread).into_owned();
            return Err(Deviation::differs(format!("nothing more in {}", one.name), quoted(&text)));
        }
    }
    Ok(())
}

fn nudged(bench: &Harness, all: &[ProbeSession<'_>]) -> ProbeResult {
    reaches_only(bench, "nudge", all, |name| {
        bench.call(&["nudge", name], name.as_bytes())?.expect_success().map(|_| format!("{name}\n"))
    })?;
    // The long text goes to the shortest name, with which all the others begin.
    let Some(first) = all.first() else { return Ok(()) };
    let text = input::long_text();
    bench.call(&["nudge", &first.name], text.as_bytes())?.expect_success()?;
    input::expect_input(bench, "nudge", first, &format!("{text}\n"))?;
    check_no_other_input(all)
}

fn interrupted(bench: &Harness, all: &[ProbeSession<'_>]) -> ProbeResult {
    bench.call(&["interrupt", &prefix(bench)], b"")?.expect_success()?;
    for (number, one) in all.iter().enumerate() {
        let before: Vec<usize> = all.iter().map(ProbeSession::interrupt_count).collect();
        bench.call(&["interrupt", &one.name], b"")?.expect_success()?;
        let interrupted = || (Some(&one.interrupt_count()) > before.get(number)).then_some(());
        bench.wait_for("interrupt", "an interrupt arrives as INT", interrupted, || format!("none in {}", one.name))?;
        for (other, before) in all.iter().zip(&before).filter(|(other, _)| other.name != one.name) {
            if other.interrupt_count() != *before {
                return Err(Deviation::differs(
                    format!("an interrupt in {} alone", one.name),
                    format!("one in {}", other.name),
                ));
            }
        }
    }
    Ok(())
}

fn stores_meta(bench: &Harness, all: &[ProbeSession<'_>]) -> ProbeResult {
    bench.call(&["set-meta", &prefix(bench), "fw_names"], b"unset")?.expect_success()?;
    for one in all {
        bench.call(&["get-meta", &one.name, "fw_names"], b"")?.expect_text("")?;
        bench.call(&["set-meta", &one.name, "fw_names"], one.name.as_bytes())?.expect_success()?;
    }
    all.iter().try_for_each(|one| bench.call(&["get-meta", &one.name, "fw_names"], b"")?.expect_text(&one.name))
}

fn peeked(bench: &Harness, all: &[ProbeSession<'_>]) -> ProbeResult {
    bench.call(&["peek", &prefix(bench), "0"], b"")?.expect_text("")?;
    for (one, tag) in all.iter().zip(TAGS) {
        let text = format!("this is {tag}.");
        let said =
            || bench.call(&["peek", &one.name, "0"], b"").and_then(CallResult::expect_success).map(|said| said.text());
        let shows = || said().ok().filter(|seen| seen.contains(&text));
        bench.wait_for("peek", "peek shows what the program printed", shows, || {
            said().map_or_else(|_| String::new(), |it| quoted(&it))
        })?;
    }
    Ok(())
}

fn stopped(bench: &Harness, all: &[ProbeSession<'_>]) -> ProbeResult {
    bench.call(&["stop", &prefix(bench)], b"")?.expect_success()?;
    for (number, one) in all.iter().enumerate() {
        one.stop()?;
        one.expect_running(false)?;
        for other in all.iter().skip(number + 1) {
            other.expect_alive()?;
            other.expect_running(true)?;
        }
    }
    Ok(())
}
