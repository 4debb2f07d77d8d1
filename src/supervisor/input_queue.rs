//! What is typed into a run's terminal: one request after the other, each as far as the terminal takes it in time.

use std::{collections::VecDeque, io, time::Duration};

use super::{child, control_socket::Reply};
use crate::{
    domain::{modes::Modes, typed::Input},
    os::pty::Pty,
};

/// How long a terminal may refuse to take any more.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a terminal that hands on whole lines keeps of one, in bytes; the kernel forgets the rest.
const LONGEST_LINE: usize = 4_095;

/// Requests that wait, and the one whose turn it is.
#[derive(Debug, Default)]
pub struct Typing {
    waiting: VecDeque<Job>,
    /// What the program has asked of its terminal.
    pub modes: Modes,
}

#[derive(Debug)]
struct Job {
    id: u64,
    inputs: VecDeque<Input>,
    /// What is being handed over, and how much of it was.
    bytes: Vec<u8>,
    at: usize,
    /// All that was, of all inputs.
    taken: usize,
    until: Option<Duration>,
}

impl Typing {
    /// Puts a request at the end of the queue.
    pub fn add(&mut self, id: u64, inputs: Vec<Input>) {
        let inputs = inputs.into();
        self.waiting.push_back(Job { id, inputs, bytes: Vec::new(), at: 0, taken: 0, until: None });
    }

    /// Forgets a request whose caller is gone, unless it has begun.
    pub fn forget(&mut self, id: u64) {
        self.waiting.retain(|job| job.id != id || job.until.is_some());
    }

    /// Whether the terminal is to be waited for.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When to come back though nothing happens.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        self.waiting.front()?.until
    }

    /// Types as much as the terminal takes now; answers with what became of those that are done. Without a terminal the
    /// run has ended.
    pub fn go_on(&mut self, mut terminal: Option<&mut Pty>, now: Duration) -> Vec<(u64, Reply)> {
        let mut done = Vec::new();
        while let Some(job) = self.waiting.front_mut() {
            let reply = match &mut terminal {
                None => Some(Reply::Over(job.taken)),
                Some(terminal) => job.go_on(terminal, self.modes, now),
            };
            let Some(reply) = reply else { break };
            done.push((job.id, reply));
            self.waiting.pop_front();
        }
        done
    }
}

impl Job {
    fn go_on(&mut self, terminal: &mut Pty, modes: Modes, now: Duration) -> Option<Reply> {
        if self.until.is_none() {
            self.until = Some(now + PATIENCE);
            let ends = terminal.line_mode().map(|end_of_input| [b'\n', b'\r', end_of_input]);
            if let Some(longest) = ends.map(|ends| self.longest_line(modes, ends)).filter(|line| *line > LONGEST_LINE) {
                return Some(Reply::LongLine(longest));
            }
        }
        loop {
            while let rest = self.bytes.get(self.at..).unwrap_or_default()
                && !rest.is_empty()
            {
                match terminal.write(rest) {
                    Ok(written) => {
                        self.at += written;
                        self.taken += written;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let is_late = self.until.is_some_and(|until| now >= until);
                        return is_late.then_some(Reply::Full(self.taken));
                    }
                    Err(_) => return Some(Reply::Over(self.taken)),
                }
            }
            let Some(input) = self.inputs.pop_front() else { return Some(Reply::Typed(self.taken)) };
            self.at = 0;
            self.bytes = match input {
                Input::Size(size) => {
                    // One that has gone has no size.
                    let _ = terminal.resize(child::cells(size));
                    Vec::new()
                }
                Input::Eof => vec![terminal.end_of_input()],
                input => input.bytes(modes.bracketed, modes.application_arrows),
            };
        }
    }

    /// The longest line in it, without its end, in bytes.
    fn longest_line(&self, modes: Modes, ends: [u8; 3]) -> usize {
        let (mut longest, mut line) = (0, 0);
        for input in &self.inputs {
            for byte in input.bytes(modes.bracketed, modes.application_arrows) {
                line = if ends.contains(&byte) { 0 } else { line + 1 };
                longest = longest.max(line);
            }
            if *input == Input::Eof {
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
    fn a_line_is_as_long_as_what_stands_between_two_ends() {
        let inputs = [
            Input::Text("x".repeat(4_000)),
            Input::Key("Enter".into()),
            Input::Text(format!("{}\n", "x".repeat(4_095))),
            Input::Text("abc".into()),
            Input::Eof,
            Input::Text("x".repeat(4_094)),
        ];
        let mut typing = Typing::default();
        typing.add(1, inputs.to_vec());
        typing.add(2, vec![Input::Text("x".repeat(4_000)), Input::Text("y".repeat(96))]);
        let longest: Vec<usize> =
            typing.waiting.iter().map(|job| job.longest_line(Modes::default(), [b'\n', b'\r', 4])).collect();
        assert_eq!(longest, [4_095, 4_096]);
        typing.forget(1);
        assert_eq!(typing.go_on(None, Duration::ZERO), [(2, Reply::Over(0))]);
    }
}
