//! Somebody's terminal at a session.

use std::{io, time::Duration};

use super::{
    call_result::{Seen, Wrong, quoted},
    harness::Bench,
    probe_session::Session,
};
use crate::os::{child::Running, pty::Pty, terminal::Size};

const SIZE: Size = Size { rows: 24, cols: 80 };
/// What the program prints.
const SHOWN: &str = "shown to whoever attaches";
/// How long a script may take to see that its terminal is gone.
const LEAVING: Duration = Duration::from_secs(5);

pub(super) fn look(bench: &Bench) {
    bench.probe("attach", "a terminal shows the session, and leaves it running when it goes", || shows(bench));
    bench.probe("is-attached", "true while a terminal is attached, false after", || told(bench));
}

/// A script that attaches a terminal of ours to a session.
struct Attached {
    terminal: Pty,
    script: Running,
    seen: Vec<u8>,
}

impl Attached {
    fn to(bench: &Bench, session: &Session<'_>) -> Result<Self, Wrong> {
        let begun = bench.adapter.attach_in(&session.name, SIZE);
        let (terminal, script) = begun.map_err(|error| Wrong::differs("a terminal", error.to_string()))?;
        Ok(Self { terminal, script, seen: Vec::new() })
    }

    /// Takes what is shown now, so that whoever draws is never held up.
    fn read(&mut self) -> &[u8] {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.terminal.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.seen.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        &self.seen
    }

    /// Closes the terminal and waits for the script's end.
    fn leave(self) -> Seen {
        let Self { terminal, mut script, .. } = self;
        drop(terminal);
        match script.finish_within(Some(LEAVING), &mut |_| {}) {
            Ok(Some(_)) => Ok(()),
            _ => {
                let key = script.key();
                let _ = key.map(|key| key.signal(nix::sys::signal::Signal::SIGKILL));
                let _ = script.finish_within(Some(LEAVING), &mut |_| {});
                Err(Wrong::differs("attach ends when its terminal goes", format!("it runs on for {LEAVING:?}")))
            }
        }
    }
}

fn shows(bench: &Bench) -> Seen {
    let one = Session::with(bench, "watched", &["--prompt", SHOWN], &[])?;
    one.start()?;
    let mut attached = Attached::to(bench, &one)?;
    let has = |seen: &[u8]| seen.windows(SHOWN.len()).any(|part| part == SHOWN.as_bytes());
    let mut last = String::new();
    let shown = bench.comes(
        "attach",
        "the terminal shows what the program printed",
        || {
            let seen = attached.read();
            last = quoted(&String::from_utf8_lossy(seen));
            has(seen).then_some(())
        },
        String::new,
    );
    let left = attached.leave();
    shown.map_err(|wrong| match wrong {
        Wrong::Differs { expected, .. } => Wrong::differs(expected, last),
        wrong => wrong,
    })?;
    left?;
    one.lives()?;
    one.runs(true)?;
    one.stop()
}

fn told(bench: &Bench) -> Seen {
    if !bench.supports("attach") {
        return Err(Wrong::Unsupported);
    }
    let one = Session::of_probe(bench, "seen")?;
    one.start()?;
    let says = |expected: &str| bench.call(&["is-attached", &one.name], b"")?.says(expected);
    says("false")?;
    let mut attached = Attached::to(bench, &one)?;
    let is_attached = || {
        attached.read();
        says("true").ok()
    };
    let seen = bench.comes("is-attached", "true while a terminal is attached", is_attached, || "false".to_owned());
    let left = attached.leave();
    seen?;
    left?;
    bench.comes("is-attached", "false once it is gone", || says("false").ok(), || "true".to_owned())?;
    one.stop()
}
