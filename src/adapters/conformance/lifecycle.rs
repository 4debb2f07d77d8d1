//! Starting, asking, stopping: also twice, at once, and again after an end.

use std::{thread, time::Duration};

use nix::sys::signal::Signal;

use super::{
    call_result::{Said, Seen, Wrong, quoted},
    harness::Bench,
    probe_session::Session,
};
use crate::{adapters::Report, os::capture::End};

/// How many start at once.
const RACERS: usize = 4;
/// What a caller does that reads to the end allows a start beyond what it took before.
const CLOSING: Duration = Duration::from_secs(6);

pub(super) fn look(bench: &Bench) {
    if !bench.tries(&["start", "stop", "is-running"]) {
        return;
    }
    bench.probe("is-running", "true while it runs, false before and after", || whole_life(bench));
    bench.probe("is-running", "false once the program has ended", || ended(bench));
    bench.probe("start", "a report on stdout, if there is one, names this session", || report(bench));
    bench.probe("start", "a live session of that name is refused: exit 1, `already exists`", || duplicate(bench));
    bench.probe("start", "the name of a dead session can be used again", || recycled(bench));
    bench.probe("start", "of those that start one name at once exactly one wins", || race(bench, "race", false));
    bench.probe("start", "the same for the name of a dead session", || race(bench, "rerun", true));
    let many: Result<Vec<_>, _> =
        (0..RACERS).map(|number| Session::of_probe(bench, &format!("many-{number}"))).collect();
    bench.probe("start", "different sessions can be started at once", || start_all(bench, many.as_deref()));
    bench.probe("stop", "different sessions can be stopped at once", || stop_all(bench, many.as_deref()));
    bench.probe("stop", "a second stop is no failure", || {
        let one = started(bench, "twice")?;
        one.stop()?;
        one.stop()
    });
    bench.probe("start", "nobody holds stdout and stderr open when it is done", || pipes(bench));
    bench.probe("start", "a folder that is not there is a failure, and nothing runs", || no_folder(bench));
    bench.probe("start", "an empty configuration and unknown fields are legal", || sparse(bench));
    bench.probe("start", "what is no JSON object is a failure", || garbage(bench));
}

/// A session that runs.
pub(super) fn started<'a>(bench: &'a Bench, tag: &str) -> Result<Session<'a>, Wrong> {
    let one = Session::of_probe(bench, tag)?;
    one.start()?;
    Ok(one)
}

fn whole_life(bench: &Bench) -> Seen {
    let one = Session::of_probe(bench, "life")?;
    one.runs(false)?;
    one.start()?;
    one.runs(true)?;
    one.stop()?;
    one.runs(false)
}

fn ended(bench: &Bench) -> Seen {
    let one = started(bench, "ended")?;
    kill(&one)?;
    let said = || one.runs(false);
    bench.comes(
        "is-running",
        "is-running says false within 10 s of the program's end",
        || said().ok(),
        || match said() {
            Err(Wrong::Differs { seen, .. }) => seen,
            _ => "nothing of the kind".to_owned(),
        },
    )?;
    one.stop()
}

/// Ends a session's program behind the script's back.
fn kill(one: &Session<'_>) -> Seen {
    let gone = || Wrong::differs("a program that can be ended", "it is gone already");
    match one.process().ok_or_else(gone)?.signal(Signal::SIGKILL) {
        Ok(_) => Ok(()),
        Err(error) => Err(Wrong::differs("a program that can be ended", error.to_string())),
    }
}

fn report(bench: &Bench) -> Seen {
    let one = Session::of_probe(bench, "report")?;
    let said = one.called()?.ok()?;
    one.comes_up()?;
    let text = said.text();
    let done = match Report::read(&said.stdout) {
        Some(report) if report.session_name.as_ref().is_some_and(|name| *name != one.name) => {
            Err(Wrong::differs(format!("session_name {}", quoted(&one.name)), quoted(&text)))
        }
        None if text.starts_with('{') => Err(Wrong::differs("one JSON document in a line, or nothing", quoted(&text))),
        _ => Ok(()),
    };
    one.stop()?;
    done
}

fn duplicate(bench: &Bench) -> Seen {
    let one = started(bench, "double")?;
    let first = one.process();
    refused(&one.called()?)?;
    one.lives()?;
    if one.process() != first {
        return Err(Wrong::differs("the first one's program runs on", "another one runs"));
    }
    one.runs(true)?;
    one.stop()
}

fn refused(said: &Said) -> Seen {
    let words = String::from_utf8_lossy(&said.stderr).to_lowercase();
    if said.end == End::Exit(1) && words.contains("already exists") {
        return Ok(());
    }
    Err(Wrong::differs("exit code 1, stderr with `already exists`", said.told()))
}

fn recycled(bench: &Bench) -> Seen {
    let one = dead(bench, "dead")?;
    one.start()?;
    one.runs(true)?;
    one.stop()
}

/// A session whose program has ended by itself, and that nobody has stopped.
fn dead<'a>(bench: &'a Bench, tag: &str) -> Result<Session<'a>, Wrong> {
    let one = started(bench, tag)?;
    kill(&one)?;
    let is_dead = || one.runs(false).ok();
    bench.comes("is-running", "is-running says false of a dead one", is_dead, || "it does not".to_owned())?;
    one.forget();
    Ok(one)
}

fn race(bench: &Bench, tag: &str, was_there: bool) -> Seen {
    let one = if was_there { dead(bench, tag)? } else { Session::of_probe(bench, tag)? };
    bench.note(&["start", &one.name]);
    let racers: Vec<Session<'_>> = (0..RACERS)
        .map(|number| {
            let racer = Session::of_probe(bench, &format!("{tag}-racer-{number}"))?;
            Ok(racer.called_as(&one.name))
        })
        .collect::<Result<_, Wrong>>()?;
    let calls: Vec<_> = racers.iter().map(|racer| (vec!["start", racer.name.as_str()], racer.text())).collect();
    let said = at_once(bench, &calls)?;
    let won = said.iter().filter(|said| said.end == End::Exit(0)).count();
    if won != 1 {
        return Err(Wrong::differs(format!("1 of {RACERS} exits with 0"), format!("{won} do")));
    }
    for said in said.iter().filter(|said| said.end != End::Exit(0)) {
        refused(said)?;
    }
    let running = || racers.iter().filter(|racer| racer.process().is_some()).count();
    bench.comes(
        "start",
        "a session whose program runs",
        || (running() > 0).then_some(()),
        || "none runs".to_owned(),
    )?;
    one.runs(true)?;
    bench.call(&["stop", &one.name], b"")?.ok()?;
    match running() {
        0 => Ok(()),
        more => Err(Wrong::differs("no program is left when the one session is stopped", format!("{more} run on"))),
    }
}

/// Makes calls at once; answers with what was said, in their order.
pub(super) fn at_once(bench: &Bench, calls: &[(Vec<&str>, Vec<u8>)]) -> Result<Vec<Said>, Wrong> {
    const LIMIT: Duration = Duration::from_secs(60);
    let adapter = &bench.adapter;
    let done: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> =
            calls.iter().map(|(args, stdin)| scope.spawn(move || adapter.raw(args, stdin, LIMIT))).collect();
        calls.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    done.into_iter()
        .map(|done| match done {
            Ok(done) => Said::of(done, LIMIT),
            Err(_) => Err(Wrong::differs("a call", "a thread of the check itself failed")),
        })
        .collect()
}

fn start_all(bench: &Bench, all: Result<&[Session<'_>], &Wrong>) -> Seen {
    let all = all.map_err(|_| Wrong::differs("folders to work in", "none"))?;
    for one in all {
        bench.note(&["start", &one.name]);
    }
    let calls: Vec<_> = all.iter().map(|one| (vec!["start", one.name.as_str()], one.text())).collect();
    for said in at_once(bench, &calls)? {
        said.ok()?;
    }
    for one in all {
        one.comes_up()?;
        one.runs(true)?;
    }
    Ok(())
}

/// Whatever runs of them, since somebody may look at `stop` alone.
fn stop_all(bench: &Bench, all: Result<&[Session<'_>], &Wrong>) -> Seen {
    let all = all.map_err(|_| Wrong::differs("folders to work in", "none"))?;
    if all.iter().all(|one| one.process().is_none()) {
        start_all(bench, Ok(all))?;
    }
    let calls: Vec<_> = all.iter().map(|one| (vec!["stop", one.name.as_str()], Vec::new())).collect();
    for said in at_once(bench, &calls)? {
        said.ok()?;
    }
    for one in all {
        if one.process().is_some() {
            return Err(Wrong::differs(format!("the program of {} is gone", one.name), "it runs on"));
        }
        one.runs(false)?;
    }
    Ok(())
}

fn pipes(bench: &Bench) -> Seen {
    let before = Session::of_probe(bench, "timed")?;
    let took = before.called()?.ok()?.took;
    before.comes_up()?;
    before.stop()?;
    let one = Session::of_probe(bench, "pipes")?;
    bench.call_to_the_end(&["start", &one.name], &one.text(), took * 3 + CLOSING)?;
    one.comes_up()?;
    one.stop()
}

fn no_folder(bench: &Bench) -> Seen {
    let mut one = Session::of_probe(bench, "nowhere")?;
    one.config.work_dir = Some(bench.folder().join("no such folder").display().to_string());
    let said = one.called()?;
    if said.end == End::Exit(1) {
        one.is_over();
    } else {
        return Err(Wrong::differs("exit code 1", said.told()));
    }
    one.runs(false)?;
    match one.process() {
        Some(_) => Err(Wrong::differs("no program", "it runs")),
        None => Ok(()),
    }
}

fn sparse(bench: &Bench) -> Seen {
    let name = format!("{}-sparse", bench.base);
    bench.call(&["start", &name], b"{}")?.ok()?;
    bench.call(&["stop", &name], b"")?.ok()?;
    let one = Session::of_probe(bench, "odd")?;
    let mut config = serde_json::to_value(&one.config).unwrap_or_default();
    if let Some(fields) = config.as_object_mut() {
        let odd = serde_json::json!({ "a": [1, { "b": "}" }], "c": null, "command": "exit 7", "env": { "X": "y" } });
        fields.insert("fw_unknown".to_owned(), odd);
        fields.insert("nudge".to_owned(), serde_json::Value::Null);
    }
    bench.call(&["start", &one.name], config.to_string().as_bytes())?.ok()?;
    one.comes_up()?;
    one.stop()
}

fn garbage(bench: &Bench) -> Seen {
    let name = format!("{}-garbage", bench.base);
    for text in ["no json", "[]", ""] {
        let said = bench.call(&["start", &name], text.as_bytes())?;
        if said.end != End::Exit(1) {
            bench.call(&["stop", &name], b"")?;
            return Err(Wrong::differs(format!("exit code 1 for {}", quoted(text)), said.told()));
        }
    }
    Ok(())
}
