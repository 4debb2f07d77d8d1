//! Probes of a session's screen: `peek`, and the time of the last output.

use std::fs;
use std::time::Duration;

use super::call_result::{Deviation, ProbeResult, quoted};
use super::harness::Harness;
use super::probe_session::ProbeSession;
use crate::adapters::plumbing::probe_program;
use crate::env::Timestamp;

/// More lines than any screen has.
const PRINTED_LINES: u32 = 120;
/// The tolerance for the difference of two clocks and for a coarse clock of the script.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);

pub(super) fn run(bench: &Harness) {
    if bench.should_probe(&["peek", "clear-scrollback", "copy-to"]) {
        let flag = PRINTED_LINES.to_string();
        let one = ProbeSession::with_args(bench, "shown", &["--lines", &flag], &[]);
        let one = one.and_then(|one| one.start().map(|()| one));
        let with = |look: fn(&Harness, &ProbeSession<'_>) -> ProbeResult| match &one {
            Ok(one) => look(bench, one),
            Err(_) => Err(Deviation::differs("a session", "none could be started")),
        };
        bench.probe("peek", "all lines for 0 and less, without padding", || with(all_lines));
        bench.probe("peek", "the last lines, as many as asked for", || with(last_lines));
        bench.probe("copy-to", "a file goes to its place below the directory", || with(copy_to));
        bench.probe("clear-scrollback", "the session runs on", || with(clear_scrollback));
        if let Ok(one) = &one {
            let _ = one.stop();
        }
    }
    if bench.should_probe(&["get-last-activity"]) {
        bench.probe("get-last-activity", "empty, or an RFC 3339 time that moves with the output", || {
            last_activity(bench)
        });
    }
}

fn peek_lines(bench: &Harness, one: &ProbeSession<'_>, lines: &str) -> Result<Vec<String>, Deviation> {
    let said = bench.call(&["peek", &one.name, lines], b"")?.expect_success()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(text.strip_suffix('\n').unwrap_or(&text).split('\n').map(str::to_owned).collect())
}

fn expected_lines(from: u32) -> Vec<String> {
    (from..=PRINTED_LINES).map(probe_program::numbered_line).collect()
}

/// Waits until `peek` shows exactly these lines: a multiplexer needs time to draw them.
fn expect_lines(bench: &Harness, one: &ProbeSession<'_>, lines: &str, expected: &[String]) -> ProbeResult {
    let seen = || peek_lines(bench, one, lines);
    let shown = || seen().ok().filter(|seen| seen == expected);
    let told = || match seen() {
        Ok(seen) => {
            let wrong = seen.iter().zip(expected).find(|(seen, expected)| seen != expected);
            let first = wrong.map_or_else(|| seen.last().cloned(), |(seen, _)| Some(seen.clone()));
            format!("{} lines, the first wrong one {}", seen.len(), quoted(&first.unwrap_or_default()))
        }
        Err(_) => "a failure".to_owned(),
    };
    bench.wait_for("peek", "peek shows exactly the lines that were printed", shown, told).map(drop).map_err(|wrong| {
        match wrong {
            Deviation::Differs { seen, .. } => Deviation::differs(
                format!("peek {lines}: {} lines, the last {:?}", expected.len(), expected.last()),
                seen,
            ),
            wrong => wrong,
        }
    })
}

fn all_lines(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    let all = expected_lines(1);
    expect_lines(bench, one, "0", &all)?;
    expect_lines(bench, one, "-1", &all)
}

fn last_lines(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    for count in [1, 5, 100] {
        expect_lines(bench, one, &count.to_string(), &expected_lines(PRINTED_LINES + 1 - count))?;
    }
    expect_lines(bench, one, "5000", &expected_lines(1))
}

fn copy_to(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    let source = bench.dir().join("a file");
    fs::write(&source, "copied\n").map_err(|error| Deviation::differs("a file to copy", error.to_string()))?;
    bench.call(&["copy-to", &one.name, &source.display().to_string(), "below/a copy"], b"")?.expect_success()?;
    match fs::read_to_string(one.work_dir().join("below/a copy")) {
        Ok(text) if text == "copied\n" => Ok(()),
        Ok(text) => Err(Deviation::differs("the file's content", quoted(&text))),
        Err(error) => Err(Deviation::differs("the file below the session's directory", error.to_string())),
    }
}

fn clear_scrollback(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    bench.call(&["clear-scrollback", &one.name], b"")?.expect_success()?;
    one.expect_alive()
}

fn last_activity(bench: &Harness) -> ProbeResult {
    let one = ProbeSession::of_shell(bench, "ticks", "while :; do echo tick; sleep 0.2; done")?;
    let begun = bench.now();
    one.call_start()?.expect_success()?;
    let ask = || -> Result<Option<Timestamp>, Deviation> {
        let text = bench.call(&["get-last-activity", &one.name], b"")?.expect_success()?.text();
        match text.trim() {
            "" => Ok(None),
            time => Timestamp::parse(time).map(Some).ok_or_else(|| Deviation::differs("RFC 3339", quoted(time))),
        }
    };
    let Some(first) = ask()? else { return one.stop() };
    let now = bench.now();
    if first.plus(CLOCK_TOLERANCE) < begun || now.plus(CLOCK_TOLERANCE) < first {
        return Err(Deviation::differs(format!("a time between {begun} and {now}"), first.to_string()));
    }
    let moved = || ask().ok().flatten().filter(|later| *later > first);
    bench.wait_for("get-last-activity", "the time moves while the program prints", moved, || first.to_string())?;
    one.stop()
}
