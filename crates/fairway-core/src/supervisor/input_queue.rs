//! The queue of a job's terminal input. Requests are written one after the other, each with a time limit.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use super::child;
use super::control_socket::Reply;
use crate::domain::terminal_input::TerminalInput;
use crate::domain::terminal_modes::TerminalModes;
use crate::os::pty::Pty;

/// How long a terminal may accept no more input.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The part of a line that a terminal in line mode keeps, in bytes; the kernel forgets the rest.
const MAX_LINE_BYTES: usize = 4_095;

/// The requests that wait; the first one is in progress.
#[derive(Debug, Default)]
pub struct InputQueue {
    waiting: VecDeque<QueuedInput>,
    /// The modes that the program requested of its terminal.
    pub modes: TerminalModes,
}

#[derive(Debug)]
struct QueuedInput {
    id: u64,
    inputs: VecDeque<TerminalInput>,
    /// The bytes of the current input, and how many of them were written.
    bytes: Vec<u8>,
    offset: usize,
    /// The bytes that were written of all inputs of the request.
    written: usize,
    deadline: Option<Duration>,
}

impl InputQueue {
    pub fn add(&mut self, id: u64, inputs: Vec<TerminalInput>) {
        let inputs = inputs.into();
        self.waiting.push_back(QueuedInput { id, inputs, bytes: Vec::new(), offset: 0, written: 0, deadline: None });
    }

    /// Removes a request whose caller has gone, unless its input is already being written.
    pub fn cancel(&mut self, id: u64) {
        self.waiting.retain(|job| job.id != id || job.deadline.is_some());
    }

    /// Whether input waits to be written, so that the terminal must be polled for writing.
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The time at which the request whose input is being written times out; `None` when no input is being written.
    pub fn due(&self) -> Option<Duration> {
        self.waiting.front()?.deadline
    }

    /// Writes as much input as the terminal accepts now, and returns the ids of the finished requests with their replies.
    /// `terminal` is `None` when the job has ended: then all requests are finished.
    pub fn write_pending(&mut self, mut terminal: Option<&mut Pty>, now: Duration) -> Vec<(u64, Reply)> {
        let mut done = Vec::new();
        while let Some(job) = self.waiting.front_mut() {
            let reply = match &mut terminal {
                None => Some(Reply::EndedMeanwhile(job.written)),
                Some(terminal) => job.write_pending(terminal, self.modes, now),
            };
            let Some(reply) = reply else { break };
            done.push((job.id, reply));
            self.waiting.pop_front();
        }
        done
    }
}

impl QueuedInput {
    fn write_pending(&mut self, terminal: &mut Pty, modes: TerminalModes, now: Duration) -> Option<Reply> {
        if self.deadline.is_none() {
            self.deadline = Some(now + WRITE_TIMEOUT);
            let ends = terminal.canonical_eof().map(|end_of_input| [b'\n', b'\r', end_of_input]);
            if let Some(longest) = ends.map(|ends| self.longest_line(modes, ends)).filter(|line| *line > MAX_LINE_BYTES)
            {
                return Some(Reply::LineTooLong(longest));
            }
        }
        loop {
            while let rest = self.bytes.get(self.offset..).unwrap_or_default()
                && !rest.is_empty()
            {
                match terminal.write(rest) {
                    Ok(written) => {
                        self.offset += written;
                        self.written += written;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let is_late = self.deadline.is_some_and(|until| now >= until);
                        return is_late.then_some(Reply::InputFull(self.written));
                    }
                    Err(_) => return Some(Reply::EndedMeanwhile(self.written)),
                }
            }
            let Some(input) = self.inputs.pop_front() else { return Some(Reply::Typed(self.written)) };
            self.offset = 0;
            self.bytes = match input {
                TerminalInput::Size(size) => {
                    // A closed terminal cannot be resized, and that is no error here.
                    let _ = terminal.resize(child::to_size(size));
                    Vec::new()
                }
                TerminalInput::Eof => vec![terminal.eof_byte()],
                input => input.bytes(modes.bracketed_paste, modes.application_cursor_keys),
            };
        }
    }

    /// The longest line of the inputs, in bytes, without its end.
    fn longest_line(&self, modes: TerminalModes, ends: [u8; 3]) -> usize {
        let (mut longest, mut line) = (0, 0);
        for input in &self.inputs {
            for byte in input.bytes(modes.bracketed_paste, modes.application_cursor_keys) {
                line = if ends.contains(&byte) { 0 } else { line + 1 };
                longest = longest.max(line);
            }
            if *input == TerminalInput::Eof {
                line = 0;
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_as_long_as_what_stands_between_two_ends() {
        let inputs = [
            TerminalInput::Text("x".repeat(4_000)),
            TerminalInput::Key("Enter".into()),
            TerminalInput::Text(format!("{}\n", "x".repeat(4_095))),
            TerminalInput::Text("abc".into()),
            TerminalInput::Eof,
            TerminalInput::Text("x".repeat(4_094)),
        ];
        let mut typing = InputQueue::default();
        typing.add(1, inputs.to_vec());
        typing.add(2, vec![TerminalInput::Text("x".repeat(4_000)), TerminalInput::Text("y".repeat(96))]);
        let longest: Vec<usize> =
            typing.waiting.iter().map(|job| job.longest_line(TerminalModes::default(), [b'\n', b'\r', 4])).collect();
        assert_eq!(longest, [4_095, 4_096]);
        typing.cancel(1);
        assert_eq!(typing.write_pending(None, Duration::ZERO), [(2, Reply::EndedMeanwhile(0))]);
    }
}
