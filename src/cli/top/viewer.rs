//! The commands that `top` runs beside itself: one whose result is a line under the board, and viewers, whose output is shown.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::action::Action;
use super::input::Input;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::file_watch::FileWatch;
use fairway_core::os::piped_child::PipedChild;

/// A session's screen is read again at most this often.
pub(super) const PEEK_INTERVAL: Duration = Duration::from_millis(300);
/// The delay before the pane of a newly selected row is read, so that rows that the cursor only passes are not read.
const SETTLE: Duration = Duration::from_millis(120);

#[derive(Debug)]
pub(super) struct Viewer {
    action: Action,
    child: Option<PipedChild>,
    /// The start of a line that is not whole.
    rest: Vec<u8>,
    /// The screen of a session is read again when this file grows.
    peek: Option<Peek>,
}

#[derive(Debug)]
struct Peek {
    watch: FileWatch,
    is_changed: bool,
    /// The earliest time at which it is read again.
    due: Instant,
    interval: Duration,
}

#[derive(Debug)]
pub(super) struct Printed {
    pub lines: Vec<String>,
    /// Whether they replace the lines before.
    pub is_whole: bool,
    pub has_ended: bool,
}

impl Viewer {
    /// Shows the output of `child`, a running command. `watch` is given for a command that prints a session's screen, and the
    /// command then runs again after each change of the watched file.
    pub(super) fn new(action: Action, child: PipedChild, watch: Option<FileWatch>) -> Self {
        let due = Instant::now() + PEEK_INTERVAL;
        let peek = watch.map(|watch| Peek { watch, is_changed: false, due, interval: PEEK_INTERVAL });
        Self { action, child: Some(child), rest: Vec::new(), peek }
    }

    /// Shows the whole output of a command. The command runs soon, and again after a change of the watched file, at most once
    /// in `interval`.
    pub(super) fn repeated(action: Action, watch: FileWatch, interval: Duration) -> Self {
        let peek = Peek { watch, is_changed: true, due: Instant::now() + SETTLE, interval };
        Self { action, child: None, rest: Vec::new(), peek: Some(peek) }
    }

    pub(super) fn close(self) {
        if let Some(child) = self.child {
            child.kill();
        }
    }

    /// File descriptors that become readable when the command has printed something or ended.
    pub(super) fn child_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.child.iter().flat_map(PipedChild::fds)
    }

    /// The file descriptor that becomes readable when the session's screen may have changed. Returns `None` while a noticed
    /// change still waits to be read, and for a viewer that watches no file.
    pub(super) fn peek_fd(&self) -> Option<BorrowedFd<'_>> {
        self.peek.as_ref().filter(|peek| !peek.is_changed)?.watch.fd()
    }

    /// Reads the notifications about the watched file, and remembers whether it has changed.
    pub(super) fn drain_watch(&mut self) {
        if let Some(peek) = &mut self.peek {
            peek.is_changed |= peek.watch.drain();
        }
    }

    /// Makes [`Self::refresh`] read the session's screen again.
    pub(super) fn mark_changed(&mut self) {
        if let Some(peek) = &mut self.peek {
            peek.is_changed = true;
        }
    }

    /// The time until the session's screen must be read again. Returns `None` when the screen has not changed, is being read,
    /// or is not watched.
    pub(super) fn time_to_refresh(&self) -> Option<Duration> {
        let peek = self.peek.as_ref().filter(|peek| peek.is_changed && self.child.is_none())?;
        Some(peek.due.saturating_duration_since(Instant::now()))
    }

    /// Starts the command again with `spawn`, if the screen has changed and the next reading is due.
    pub(super) fn refresh(&mut self, spawn: impl FnOnce(&Action) -> io::Result<PipedChild>) {
        if !self.time_to_refresh().is_some_and(|left| left.is_zero()) {
            return;
        }
        self.child = spawn(&self.action).ok();
        self.rest.clear();
        if let Some(peek) = &mut self.peek {
            (peek.is_changed, peek.due) = (false, Instant::now() + peek.interval);
        }
    }

    /// Reads the output that is ready: complete lines, or, for a watched screen, the whole screen once its command has ended.
    /// Returns `None` when there is nothing new to show.
    pub(super) fn read(&mut self) -> Option<Printed> {
        let Some(Ok(mut arrived)) = self.child.as_mut().map(PipedChild::look) else { return None };
        let has_ended = arrived.exit.is_some();
        if !has_ended && arrived.stdout.is_empty() && arrived.stderr.is_empty() {
            return None;
        }
        self.rest.append(&mut arrived.stdout);
        self.rest.append(&mut arrived.stderr);
        if has_ended {
            self.child = None;
        }
        let is_whole = self.peek.is_some();
        // A screen is shown when it is whole.
        if is_whole && !has_ended {
            return None;
        }
        let end = if has_ended {
            self.rest.len()
        } else {
            self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        };
        let printed: Vec<u8> = self.rest.drain(..end).collect();
        let text = String::from_utf8_lossy(&printed).into_owned();
        let text = if is_whole { text.trim_end() } else { text.as_str() };
        let lines = text.lines().map(|line| line.replace('\t', "    ")).collect();
        Some(Printed { lines, is_whole, has_ended })
    }
}

#[derive(Debug)]
pub(super) struct BackgroundCommand {
    action: Action,
    child: PipedChild,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl BackgroundCommand {
    pub(super) const fn new(action: Action, child: PipedChild) -> Self {
        Self { action, child, stdout: Vec::new(), stderr: Vec::new() }
    }

    /// File descriptors that become readable when the command has printed something or ended.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.child.fds().into_iter()
    }

    /// Reads the output that is ready. Returns the result of the command once it has ended, and `None` while it runs.
    pub(super) fn result(&mut self) -> Option<Input> {
        let arrived = match self.child.look() {
            Ok(arrived) => arrived,
            Err(error) => {
                return Some(Input::Ended { is_ok: false, said: format!("{}: {error}", self.action.typed()) });
            }
        };
        self.stdout.extend(arrived.stdout);
        self.stderr.extend(arrived.stderr);
        let is_ok = arrived.exit? == ExitReason::Code(0);
        let said = one_line(if is_ok { &self.stdout } else { &self.stderr });
        Some(Input::Ended { is_ok, said: if said.is_empty() { self.action.typed() } else { said } })
    }
}

/// The lines that a command printed, joined to one.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("   ")
}
