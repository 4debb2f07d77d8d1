//! What a session shows: `peek`, and when it last showed something.

use std::{fs, time::Duration};

use super::{
    call_result::{Seen, Wrong, quoted},
    harness::Bench,
    probe_session::Session,
};
use crate::{adapters::plumbing::probe_program, env::Timestamp};

/// More than any screen holds.
const LINES: u32 = 120;
/// How far two clocks may be apart, and how coarse a script's may be.
const SLACK: Duration = Duration::from_secs(5);

pub(super) fn look(bench: &Bench) {
    if bench.tries(&["peek", "clear-scrollback", "copy-to"]) {
        let flag = LINES.to_string();
        let one = Session::with(bench, "shown", &["--lines", &flag], &[]);
        let one = one.and_then(|one| one.start().map(|()| one));
        let with = |look: fn(&Bench, &Session<'_>) -> Seen| match &one {
            Ok(one) => look(bench, one),
            Err(_) => Err(Wrong::differs("a session", "none could be started")),
        };
        bench.probe("peek", "all lines for 0 and less, without padding", || with(whole));
        bench.probe("peek", "the last lines, as many as asked for", || with(last));
        bench.probe("copy-to", "a file goes to its place below the directory", || with(copied));
        bench.probe("clear-scrollback", "the session runs on", || with(cleared));
        if let Ok(one) = &one {
            let _ = one.stop();
        }
    }
    if bench.tries(&["get-last-activity"]) {
        bench.probe("get-last-activity", "empty, or an RFC 3339 time that moves with the output", || activity(bench));
    }
}

fn peek(bench: &Bench, one: &Session<'_>, lines: &str) -> Result<Vec<String>, Wrong> {
    let said = bench.call(&["peek", &one.name, lines], b"")?.ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(text.strip_suffix('\n').unwrap_or(&text).split('\n').map(str::to_owned).collect())
}

fn numbered(from: u32) -> Vec<String> {
    (from..=LINES).map(probe_program::line).collect()
}

/// Demands these lines, once the multiplexer has drawn them.
fn shows(bench: &Bench, one: &Session<'_>, lines: &str, expected: &[String]) -> Seen {
    let seen = || peek(bench, one, lines);
    let shown = || seen().ok().filter(|seen| seen == expected);
    let told = || match seen() {
        Ok(seen) => {
            let wrong = seen.iter().zip(expected).find(|(seen, expected)| seen != expected);
            let first = wrong.map_or_else(|| seen.last().cloned(), |(seen, _)| Some(seen.clone()));
            format!("{} lines, the first wrong one {}", seen.len(), quoted(&first.unwrap_or_default()))
        }
        Err(_) => "a failure".to_owned(),
    };
    bench.comes("peek", "peek shows exactly the lines that were printed", shown, told).map(drop).map_err(|wrong| {
        match wrong {
            Wrong::Differs { seen, .. } => {
                Wrong::differs(format!("peek {lines}: {} lines, the last {:?}", expected.len(), expected.last()), seen)
            }
            wrong => wrong,
        }
    })
}

fn whole(bench: &Bench, one: &Session<'_>) -> Seen {
    let all = numbered(1);
    shows(bench, one, "0", &all)?;
    shows(bench, one, "-1", &all)
}

fn last(bench: &Bench, one: &Session<'_>) -> Seen {
    for count in [1, 5, 100] {
        shows(bench, one, &count.to_string(), &numbered(LINES + 1 - count))?;
    }
    shows(bench, one, "5000", &numbered(1))
}

fn copied(bench: &Bench, one: &Session<'_>) -> Seen {
    let source = bench.folder().join("a file");
    fs::write(&source, "copied\n").map_err(|error| Wrong::differs("a file to copy", error.to_string()))?;
    bench.call(&["copy-to", &one.name, &source.display().to_string(), "below/a copy"], b"")?.ok()?;
    match fs::read_to_string(one.work_dir().join("below/a copy")) {
        Ok(text) if text == "copied\n" => Ok(()),
        Ok(text) => Err(Wrong::differs("the file's content", quoted(&text))),
        Err(error) => Err(Wrong::differs("the file below the session's directory", error.to_string())),
    }
}

fn cleared(bench: &Bench, one: &Session<'_>) -> Seen {
    bench.call(&["clear-scrollback", &one.name], b"")?.ok()?;
    one.lives()
}

fn activity(bench: &Bench) -> Seen {
    let one = Session::of_shell(bench, "ticks", "while :; do echo tick; sleep 0.2; done")?;
    let begun = bench.now();
    one.called()?.ok()?;
    let ask = || -> Result<Option<Timestamp>, Wrong> {
        let text = bench.call(&["get-last-activity", &one.name], b"")?.ok()?.text();
        match text.trim() {
            "" => Ok(None),
            time => Timestamp::parse(time).map(Some).ok_or_else(|| Wrong::differs("RFC 3339", quoted(time))),
        }
    };
    let Some(first) = ask()? else { return one.stop() };
    let now = bench.now();
    if first.plus(SLACK) < begun || now.plus(SLACK) < first {
        return Err(Wrong::differs(format!("a time between {begun} and {now}"), first.to_string()));
    }
    let moved = || ask().ok().flatten().filter(|later| *later > first);
    bench.comes("get-last-activity", "the time moves while the program prints", moved, || first.to_string())?;
    one.stop()
}
