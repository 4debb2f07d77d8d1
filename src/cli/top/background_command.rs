//! A command that a key started and whose result is one line under the board.

use std::os::fd::BorrowedFd;

use super::{action::Action, input::Input};
use crate::os::{exit_reason::ExitReason, piped_child::PipedChild};

/// A running command.
#[derive(Debug)]
pub(super) struct BackgroundCommand {
    action: Action,
    child: PipedChild,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl BackgroundCommand {
    /// A command that was started.
    pub(super) const fn new(action: Action, child: PipedChild) -> Self {
        Self { action, child, stdout: Vec::new(), stderr: Vec::new() }
    }

    /// The files that are readable when the command has printed or ended.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.child.fds().into_iter()
    }

    /// Takes its output; once it has ended, its result as an input of the state machine.
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

/// The lines that a command printed, as one.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("   ")
}
