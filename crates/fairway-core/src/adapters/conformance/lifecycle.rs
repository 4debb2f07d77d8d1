//! Probes of `start`, `is-running` and `stop`: also repeated, in parallel, and after a program's end.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::call_result::{CallResult, Deviation, ProbeResult, quoted};
use super::harness::Harness;
use super::probe_session::ProbeSession;
use crate::adapters::StartReport;
use crate::os::exit_reason::ExitReason;

/// How many sessions start in parallel.
const PARALLEL_STARTS: usize = 4;
/// The time that a caller which reads to the end allows a start beyond the time of an earlier one.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

pub(super) fn run(bench: &Harness) {
    if !bench.should_probe(&["start", "stop", "is-running"]) {
        return;
    }
    bench.probe("is-running", "true while it runs, false before and after", || full_lifecycle(bench));
    bench.probe("is-running", "false once the program has ended", || detects_exit(bench));
    bench.probe("start", "a report on stdout, if there is one, names this session", || report(bench));
    bench.probe("start", "a live session of that name is refused: exit 1, `already exists`", || duplicate(bench));
    bench.probe("start", "the name of a dead session can be used again", || name_reuse(bench));
    bench.probe("start", "of those that start one name at once exactly one wins", || race(bench, "race", false));
    bench.probe("start", "the same for the name of a dead session", || race(bench, "rerun", true));
    let many: Result<Vec<_>, _> =
        (0..PARALLEL_STARTS).map(|number| ProbeSession::of_probe(bench, &format!("many-{number}"))).collect();
    bench.probe("start", "different sessions can be started at once", || start_all(bench, many.as_deref()));
    bench.probe("stop", "different sessions can be stopped at once", || stop_all(bench, many.as_deref()));
    bench.probe("stop", "a second stop is no failure", || {
        let one = start_session(bench, "twice")?;
        one.stop()?;
        one.stop()
    });
    bench.probe("start", "stdout and stderr are closed when it is done", || closes_pipes(bench));
    bench.probe("start", "a directory that is not there is a failure, and nothing runs", || missing_dir(bench));
    bench.probe("start", "an empty configuration and unknown fields are legal", || minimal_config(bench));
    bench.probe("start", "what is no JSON object is a failure", || malformed_config(bench));
}

/// Starts a session with the probe program and waits until the program reads input.
pub(super) fn start_session<'a>(bench: &'a Harness, tag: &str) -> Result<ProbeSession<'a>, Deviation> {
    let one = ProbeSession::of_probe(bench, tag)?;
    one.start()?;
    Ok(one)
}

fn full_lifecycle(bench: &Harness) -> ProbeResult {
    let one = ProbeSession::of_probe(bench, "life")?;
    one.expect_running(false)?;
    one.start()?;
    one.expect_running(true)?;
    one.stop()?;
    one.expect_running(false)
}

fn detects_exit(bench: &Harness) -> ProbeResult {
    let one = start_session(bench, "ended")?;
    kill_program(&one)?;
    let said = || one.expect_running(false);
    bench.wait_for(
        "is-running",
        "is-running says false within 10 s of the program's end",
        || said().ok(),
        || match said() {
            Err(Deviation::Differs { seen, .. }) => seen,
            _ => "nothing of the kind".to_owned(),
        },
    )?;
    one.stop()
}

/// Kills a session's program without the script's knowledge.
fn kill_program(one: &ProbeSession<'_>) -> ProbeResult {
    let gone = || Deviation::differs("a program that can be ended", "it is gone already");
    match one.process().ok_or_else(gone)?.signal(Signal::SIGKILL) {
        Ok(_) => Ok(()),
        Err(error) => Err(Deviation::differs("a program that can be ended", error.to_string())),
    }
}

fn report(bench: &Harness) -> ProbeResult {
    let one = ProbeSession::of_probe(bench, "report")?;
    let said = one.call_start()?.expect_success()?;
    one.wait_ready()?;
    let text = said.text();
    let done = match StartReport::read(&said.stdout) {
        Some(report) if report.session_name.as_ref().is_some_and(|name| *name != one.name) => {
            Err(Deviation::differs(format!("session_name {}", quoted(&one.name)), quoted(&text)))
        }
        None if text.starts_with('{') => {
            Err(Deviation::differs("one JSON document in a line, or nothing", quoted(&text)))
        }
        _ => Ok(()),
    };
    one.stop()?;
    done
}

fn duplicate(bench: &Harness) -> ProbeResult {
    let one = start_session(bench, "double")?;
    let first = one.process();
    check_refused(&one.call_start()?)?;
    one.expect_alive()?;
    if one.process() != first {
        return Err(Deviation::differs("the first one's program runs on", "another one runs"));
    }
    one.expect_running(true)?;
    one.stop()
}

fn check_refused(said: &CallResult) -> ProbeResult {
    let words = String::from_utf8_lossy(&said.stderr).to_lowercase();
    if said.end == ExitReason::Code(1) && words.contains("already exists") {
        return Ok(());
    }
    Err(Deviation::differs("exit code 1, stderr with `already exists`", said.describe()))
}

fn name_reuse(bench: &Harness) -> ProbeResult {
    let one = exited_session(bench, "dead")?;
    one.start()?;
    one.expect_running(true)?;
    one.stop()
}

/// A session whose program has ended, although the session was not stopped.
fn exited_session<'a>(bench: &'a Harness, tag: &str) -> Result<ProbeSession<'a>, Deviation> {
    let one = start_session(bench, tag)?;
    kill_program(&one)?;
    let is_dead = || one.expect_running(false).ok();
    bench.wait_for("is-running", "is-running says false of a dead one", is_dead, || "it does not".to_owned())?;
    one.clear_output();
    Ok(one)
}

fn race(bench: &Harness, tag: &str, was_there: bool) -> ProbeResult {
    let one = if was_there { exited_session(bench, tag)? } else { ProbeSession::of_probe(bench, tag)? };
    bench.note_started(&["start", &one.name]);
    let racers: Vec<ProbeSession<'_>> = (0..PARALLEL_STARTS)
        .map(|number| {
            let racer = ProbeSession::of_probe(bench, &format!("{tag}-racer-{number}"))?;
            Ok(racer.renamed(&one.name))
        })
        .collect::<Result<_, Deviation>>()?;
    let calls: Vec<_> = racers.iter().map(|racer| (vec!["start", racer.name.as_str()], racer.config_json())).collect();
    let said = call_parallel(bench, &calls)?;
    let won = said.iter().filter(|said| said.end == ExitReason::Code(0)).count();
    if won != 1 {
        return Err(Deviation::differs(format!("1 of {PARALLEL_STARTS} exits with 0"), format!("{won} do")));
    }
    for said in said.iter().filter(|said| said.end != ExitReason::Code(0)) {
        check_refused(said)?;
    }
    let running = || racers.iter().filter(|racer| racer.process().is_some()).count();
    bench.wait_for(
        "start",
        "a session whose program runs",
        || (running() > 0).then_some(()),
        || "none runs".to_owned(),
    )?;
    one.expect_running(true)?;
    bench.call(&["stop", &one.name], b"")?.expect_success()?;
    match running() {
        0 => Ok(()),
        more => Err(Deviation::differs("no program is left when the one session is stopped", format!("{more} run on"))),
    }
}

/// Makes calls in parallel and returns their results in the order of `calls`.
pub(super) fn call_parallel(bench: &Harness, calls: &[(Vec<&str>, Vec<u8>)]) -> Result<Vec<CallResult>, Deviation> {
    const LIMIT: Duration = Duration::from_secs(60);
    let adapter = &bench.adapter;
    let done: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> =
            calls.iter().map(|(args, stdin)| scope.spawn(move || adapter.call_raw(args, stdin, LIMIT))).collect();
        calls.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    done.into_iter()
        .map(|done| match done {
            Ok(done) => CallResult::of(done, LIMIT),
            Err(_) => Err(Deviation::differs("a call", "a thread of the check itself failed")),
        })
        .collect()
}

fn start_all(bench: &Harness, all: Result<&[ProbeSession<'_>], &Deviation>) -> ProbeResult {
    let all = all.map_err(|_| Deviation::differs("directories to work in", "none"))?;
    for one in all {
        bench.note_started(&["start", &one.name]);
    }
    let calls: Vec<_> = all.iter().map(|one| (vec!["start", one.name.as_str()], one.config_json())).collect();
    for said in call_parallel(bench, &calls)? {
        said.expect_success()?;
    }
    for one in all {
        one.wait_ready()?;
        one.expect_running(true)?;
    }
    Ok(())
}

/// Stops all sessions in parallel. Starts them first when none runs, because a check may cover `stop` alone.
fn stop_all(bench: &Harness, all: Result<&[ProbeSession<'_>], &Deviation>) -> ProbeResult {
    let all = all.map_err(|_| Deviation::differs("directories to work in", "none"))?;
    if all.iter().all(|one| one.process().is_none()) {
        start_all(bench, Ok(all))?;
    }
    let calls: Vec<_> = all.iter().map(|one| (vec!["stop", one.name.as_str()], Vec::new())).collect();
    for said in call_parallel(bench, &calls)? {
        said.expect_success()?;
    }
    for one in all {
        if one.process().is_some() {
            return Err(Deviation::differs(format!("the program of {} is gone", one.name), "it runs on"));
        }
        one.expect_running(false)?;
    }
    Ok(())
}

fn closes_pipes(bench: &Harness) -> ProbeResult {
    let before = ProbeSession::of_probe(bench, "timed")?;
    let took = before.call_start()?.expect_success()?.duration;
    before.wait_ready()?;
    before.stop()?;
    let one = ProbeSession::of_probe(bench, "pipes")?;
    bench.call_until_eof(&["start", &one.name], &one.config_json(), took * 3 + CLOSE_TIMEOUT)?;
    one.wait_ready()?;
    one.stop()
}

fn missing_dir(bench: &Harness) -> ProbeResult {
    let mut one = ProbeSession::of_probe(bench, "nowhere")?;
    one.config.work_dir = Some(bench.dir().join("no such directory").display().to_string());
    let said = one.call_start()?;
    if said.end == ExitReason::Code(1) {
        one.mark_stopped();
    } else {
        return Err(Deviation::differs("exit code 1", said.describe()));
    }
    one.expect_running(false)?;
    match one.process() {
        Some(_) => Err(Deviation::differs("no program", "it runs")),
        None => Ok(()),
    }
}

fn minimal_config(bench: &Harness) -> ProbeResult {
    let name = format!("{}-sparse", bench.name_prefix);
    bench.call(&["start", &name], b"{}")?.expect_success()?;
    bench.call(&["stop", &name], b"")?.expect_success()?;
    let one = ProbeSession::of_probe(bench, "odd")?;
    let mut config = serde_json::to_value(&one.config).unwrap_or_default();
    if let Some(fields) = config.as_object_mut() {
        let odd = serde_json::json!({ "a": [1, { "b": "}" }], "c": null, "command": "exit 7", "env": { "X": "y" } });
        fields.insert("fw_unknown".to_owned(), odd);
        fields.insert("nudge".to_owned(), serde_json::Value::Null);
    }
    bench.call(&["start", &one.name], config.to_string().as_bytes())?.expect_success()?;
    one.wait_ready()?;
    one.stop()
}

fn malformed_config(bench: &Harness) -> ProbeResult {
    let name = format!("{}-garbage", bench.name_prefix);
    for text in ["no json", "[]", ""] {
        let said = bench.call(&["start", &name], text.as_bytes())?;
        if said.end != ExitReason::Code(1) {
            bench.call(&["stop", &name], b"")?;
            return Err(Deviation::differs(format!("exit code 1 for {}", quoted(text)), said.describe()));
        }
    }
    Ok(())
}
