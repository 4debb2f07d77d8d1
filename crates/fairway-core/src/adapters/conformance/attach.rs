//! Probes of `attach`: a terminal that is attached to a session.

use std::io::{self, Read};
use std::time::Duration;

use super::call_result::{Deviation, ProbeResult, quoted};
use super::harness::Harness;
use super::probe_session::ProbeSession;
use crate::os::pty::Pty;
use crate::os::session_leader::Running;
use crate::os::terminal::Size;

const SIZE: Size = Size { rows: 24, cols: 80 };
/// The text that the program prints.
const MARKER_TEXT: &str = "shown on attach";
/// How long a script may take to notice that its terminal is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn run(bench: &Harness) {
    bench.probe("attach", "a terminal shows the session, and leaves it running when it goes", || shows_session(bench));
    bench.probe("is-attached", "true while a terminal is attached, false after", || reports_attached(bench));
}

/// A running `attach` in a terminal of the suite.
struct AttachedTerminal {
    terminal: Pty,
    script: Running,
    output: Vec<u8>,
}

impl AttachedTerminal {
    fn attach(bench: &Harness, session: &ProbeSession<'_>) -> Result<Self, Deviation> {
        let begun = bench.adapter.attach_in_pty(&session.name, SIZE);
        let (terminal, script) = begun.map_err(|error| Deviation::differs("a terminal", error.to_string()))?;
        Ok(Self { terminal, script, output: Vec::new() })
    }

    /// Reads the output that is there now, so that the program never blocks while it draws. Returns all output so far.
    fn read(&mut self) -> &[u8] {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.terminal.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.output.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        &self.output
    }

    /// Closes the terminal and waits until the script has ended; kills it after [`EXIT_TIMEOUT`].
    fn detach(self) -> ProbeResult {
        let Self { terminal, mut script, .. } = self;
        drop(terminal);
        match script.wait_with_timeout(Some(EXIT_TIMEOUT), &mut |_| {}) {
            Ok(Some(_)) => Ok(()),
            _ => {
                let key = script.key();
                let _ = key.map(|key| key.signal(nix::sys::signal::Signal::SIGKILL));
                let _ = script.wait_with_timeout(Some(EXIT_TIMEOUT), &mut |_| {});
                Err(Deviation::differs(
                    "attach ends when its terminal goes",
                    format!("it runs on for {EXIT_TIMEOUT:?}"),
                ))
            }
        }
    }
}

fn shows_session(bench: &Harness) -> ProbeResult {
    let one = ProbeSession::with_args(bench, "watched", &["--prompt", MARKER_TEXT], &[])?;
    one.start()?;
    let mut attached = AttachedTerminal::attach(bench, &one)?;
    let has = |seen: &[u8]| seen.windows(MARKER_TEXT.len()).any(|part| part == MARKER_TEXT.as_bytes());
    let mut last = String::new();
    let shown = bench.wait_for(
        "attach",
        "the terminal shows what the program printed",
        || {
            let seen = attached.read();
            last = quoted(&String::from_utf8_lossy(seen));
            has(seen).then_some(())
        },
        String::new,
    );
    let left = attached.detach();
    shown.map_err(|wrong| match wrong {
        Deviation::Differs { expected, .. } => Deviation::differs(expected, last),
        wrong => wrong,
    })?;
    left?;
    one.expect_alive()?;
    one.expect_running(true)?;
    one.stop()
}

fn reports_attached(bench: &Harness) -> ProbeResult {
    if !bench.supports("attach") {
        return Err(Deviation::Unsupported);
    }
    let one = ProbeSession::of_probe(bench, "seen")?;
    one.start()?;
    let says = |expected: &str| bench.call(&["is-attached", &one.name], b"")?.expect_text(expected);
    says("false")?;
    let mut attached = AttachedTerminal::attach(bench, &one)?;
    let is_attached = || {
        attached.read();
        says("true").ok()
    };
    let seen = bench.wait_for("is-attached", "true while a terminal is attached", is_attached, || "false".to_owned());
    let left = attached.detach();
    seen?;
    left?;
    bench.wait_for("is-attached", "false once it is gone", || says("false").ok(), || "true".to_owned())?;
    one.stop()
}
