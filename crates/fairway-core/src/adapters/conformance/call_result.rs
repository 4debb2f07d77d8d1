//! A script's answer to one call, and how it can be wrong.

use std::io;
use std::time::Duration;

use crate::os::capture::Captured;
use crate::os::exit_reason::ExitReason;

/// How much of an unexpected text a report quotes, in characters.
const MAX_QUOTED_CHARS: usize = 300;

/// Why a probe did not pass.
#[derive(Debug)]
pub(super) enum Deviation {
    /// The script did not behave as expected.
    Differs {
        /// The expected answer.
        expected: String,
        /// The answer.
        seen: String,
    },
    /// The script does not support the operation, which is optional.
    Unsupported,
    /// A signal ended the suite.
    Interrupted,
}

impl Deviation {
    pub fn differs(expected: impl Into<String>, seen: impl Into<String>) -> Self {
        Self::Differs { expected: expected.into(), seen: seen.into() }
    }
}

/// The result of a probe.
pub(super) type ProbeResult = Result<(), Deviation>;

/// The answer to one call.
#[derive(Debug)]
pub(super) struct CallResult {
    /// How the script ended.
    pub end: ExitReason,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub duration: Duration,
}

impl CallResult {
    /// The result of a call. A script that could not be run is a deviation.
    pub fn of(done: io::Result<Captured>, took: Duration) -> Result<Self, Deviation> {
        match done {
            Ok(Captured { exit: end, stdout, stderr }) => Ok(Self { end, stdout, stderr, duration: took }),
            Err(error) => Err(Deviation::differs("a script that can be run", error.to_string())),
        }
    }

    /// Passes on a call that exited with 0; any other exit code, a signal or a timeout is a deviation.
    pub fn expect_success(self) -> Result<Self, Deviation> {
        if self.end == ExitReason::Code(0) { Ok(self) } else { Err(Deviation::differs("exit code 0", self.describe())) }
    }

    /// Whether the script exited with code 2, which says that it does not know the operation.
    pub fn is_unknown_operation(&self) -> bool {
        self.end == ExitReason::Code(2)
    }

    /// The text on stdout without the newlines at its end, as callers of the protocol read it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// Requires exit code 0 and exactly this text on stdout.
    pub fn expect_text(self, expected: &str) -> ProbeResult {
        let said = self.expect_success()?;
        let text = said.text();
        if text == expected { Ok(()) } else { Err(Deviation::differs(quoted(expected), quoted(&text))) }
    }

    /// Describes the exit, stdout and stderr for the report of the check.
    pub fn describe(&self) -> String {
        let end = match self.end {
            ExitReason::Code(code) => format!("exit code {code}"),
            ExitReason::Signal(signal) => format!("signal {signal}"),
            ExitReason::TimedOut => "no end".to_owned(),
        };
        let tell = |what: &str, bytes: &[u8]| match String::from_utf8_lossy(bytes).trim() {
            "" => String::new(),
            text => format!(", {what} {}", quoted(text)),
        };
        format!("{end}{}{}", tell("stdout", &self.stdout), tell("stderr", &self.stderr))
    }
}

/// Formats a text for the report of the check: in quotes, shortened, with invisible characters escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut characters = text.chars();
    let head: String = characters.by_ref().take(MAX_QUOTED_CHARS).collect();
    match characters.count() {
        0 => format!("{head:?}"),
        more => format!("{head:?} and {more} characters more"),
    }
}

/// The deviation for two texts that differ. It shows both around the first byte that differs.
pub(super) fn first_difference(expected: &[u8], seen: &[u8]) -> Deviation {
    const AROUND: usize = 40;
    let at = expected.iter().zip(seen).take_while(|(one, other)| one == other).count();
    let part = |text: &[u8]| {
        let from = at.saturating_sub(AROUND);
        let piece = text.get(from..text.len().min(at + AROUND)).unwrap_or_default();
        format!("{} bytes, around byte {at}: {}", text.len(), quoted(&String::from_utf8_lossy(piece)))
    };
    Deviation::differs(part(expected), part(seen))
}
