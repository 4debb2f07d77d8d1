//! The commands that check a tree: one after the other, until one fails.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::check_log::CheckLog;
use crate::queue::evidence::run::how;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::head_tail_buffer::HeadTailBuffer;
use fairway_core::os::run_streaming::{self, StreamError, StreamResult, StreamedProgram};

/// The most output that is stored of a command, in bytes. The middle of a longer output is dropped.
const CAPTURE_LIMIT_BYTES: usize = 1024 * 1024;

/// The exit code of a shell that does not find the program.
const NO_PROGRAM: i32 = 127;

/// A command, and the line about it for the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckStep {
    pub(super) announcement: String,
    /// Text for `sh -c`.
    pub(super) command: String,
}

/// Where the commands of a check run.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckPlace<'a> {
    pub(super) dir: &'a Path,
    /// The words to put before each command, which run it in a sandbox; empty without one.
    pub(super) sandbox: &'a [String],
    /// Variables beside those of this process.
    pub(super) env: &'a [(String, String)],
}

/// The limits of each command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckLimits {
    pub(super) timeout: Duration,
    /// How often a failed command runs again.
    pub(super) retries: u32,
}

/// A command that has run, and run again if it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandRun {
    pub(super) exit: ExitReason,
    pub(super) elapsed: Duration,
    /// The output of all runs.
    pub(super) output: Vec<u8>,
    /// How the last run ended, in words.
    pub(super) how: String,
    /// How an earlier run failed.
    pub(super) earlier: Option<String>,
}

impl CommandRun {
    /// Whether the last attempt exited with 0.
    pub(super) fn passed(&self) -> bool {
        self.exit == ExitReason::Code(0)
    }

    /// Whether the shell did not find the command's program.
    pub(super) fn is_program_missing(&self) -> bool {
        self.exit == ExitReason::Code(NO_PROGRAM)
    }
}

/// Events while commands run.
pub(super) enum Progress {
    Note(String),
    /// The next command has run.
    Ran(CommandRun),
}

/// Runs commands in a tree, one after the other, until one fails, also when it is tried again. Returns an error only when a
/// command cannot be started, or a signal interrupts this process.
pub(super) fn run_until_failure(
    place: &CheckPlace<'_>,
    steps: &[CheckStep],
    limits: CheckLimits,
    tell: &mut dyn FnMut(Progress) -> Result<(), StreamError>,
) -> Result<(), StreamError> {
    for step in steps {
        tell(Progress::Note(step.announcement.clone()))?;
        let ran = run_command(place, step, limits, tell)?;
        let passed = ran.passed();
        tell(Progress::Ran(ran))?;
        if !passed {
            break;
        }
    }
    Ok(())
}

/// Runs a command, and again when it fails, but not when its program is missing.
fn run_command(
    place: &CheckPlace<'_>,
    step: &CheckStep,
    limits: CheckLimits,
    tell: &mut dyn FnMut(Progress) -> Result<(), StreamError>,
) -> Result<CommandRun, StreamError> {
    let (mut output, mut earlier, mut left) = (Vec::new(), None, limits.retries);
    loop {
        let (ran, written) = run_once(place, step, limits.timeout)?;
        output.extend_from_slice(&written);
        let how = how(ran.exit, limits.timeout);
        let is_over = matches!(ran.exit, ExitReason::Code(0 | NO_PROGRAM));
        if is_over || left == 0 {
            let real = place.dir.canonicalize().unwrap_or_else(|_| place.dir.to_path_buf());
            let output = from_top(&from_top(&output, place.dir), &real);
            return Ok(CommandRun { exit: ran.exit, elapsed: ran.elapsed, output, how, earlier });
        }
        left -= 1;
        tell(Progress::Note(format!("trying it again, it failed ({how}): {}", step.command)))?;
        output.extend_from_slice(format!("\n[{how}; once more]\n").as_bytes());
        earlier = Some(how);
    }
}

fn run_once(
    place: &CheckPlace<'_>,
    step: &CheckStep,
    timeout: Duration,
) -> Result<(StreamResult, Vec<u8>), StreamError> {
    let log = CheckLog::begin(place.dir, &step.announcement);
    let kept = Arc::new(Mutex::new((HeadTailBuffer::new(CAPTURE_LIMIT_BYTES), log)));
    let seen = Arc::clone(&kept);
    let argv: Vec<OsString> =
        place.sandbox.iter().map(String::as_str).chain(["/bin/sh", "-c", &step.command]).map(OsString::from).collect();
    let program = StreamedProgram {
        argv: &argv,
        env: place.env,
        dir: place.dir,
        timeout: Some(timeout),
        merge_output: true,
        is_alone: true,
    };
    let ran = run_streaming::run(&program, move |_, bytes| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.0.push(bytes);
        if let Some(log) = &mut seen.1 {
            log.push(bytes);
        }
    })?;
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).0.to_bytes();
    Ok((ran, output))
}

/// An output in which paths below `top` begin at `top`, as in each lane whose tree is checked there.
fn from_top(output: &[u8], top: &Path) -> Vec<u8> {
    let (top, mut shown, mut rest) = (top.as_os_str().as_bytes(), Vec::with_capacity(output.len()), output);
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    while let Some((first, after)) = rest.split_first() {
        let below = rest.strip_prefix(top);
        if let Some(path) = below.and_then(|below| below.strip_prefix(b"/")) {
            rest = path;
        } else if let Some(end) = below.filter(|below| !below.first().is_some_and(goes_on)) {
            shown.push(b'.');
            rest = end;
        } else {
            shown.push(*first);
            rest = after;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_worktree_for_checks_begin_at_the_top_of_a_lane() {
        let shown = |output: &str| String::from_utf8(from_top(output.as_bytes(), Path::new("/p/worktree"))).unwrap();
        for (output, expected) in [
            ("File \"/p/worktree/a/b.py\", line 3", "File \"a/b.py\", line 3"),
            ("Entering directory '/p/worktree'\n/p/worktree", "Entering directory '.'\n."),
            ("/p/worktree-2/x /p/worktrees /p/work", "/p/worktree-2/x /p/worktrees /p/work"),
            ("", ""),
        ] {
            assert_eq!(shown(output), expected);
        }
    }
}
