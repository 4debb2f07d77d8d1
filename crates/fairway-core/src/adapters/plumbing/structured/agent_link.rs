//! The stdio of an agent, a frame for each line. Nothing here blocks.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};
use serde_json::Value;

use crate::acp::{Frame, FrameReader, Line};
use crate::domain::{ansi, secrets};
use crate::os::command::Program;
use crate::os::piped_child::{ChildStream, DuplexChild};

/// How much may wait for an agent that does not read its stdin, in bytes.
const MAX_OUTBOX_BYTES: usize = 32 << 20;
/// How much of the agent's stderr is kept for the message of a failed start, in bytes.
const MAX_STDERR_BYTES: usize = 2_000;

/// An agent's process, with the data on its way to and from it.
pub(super) struct AgentLink {
    pub(super) child: DuplexChild,
    reader: FrameReader,
    outbox: VecDeque<u8>,
    stderr: Vec<u8>,
}

impl AgentLink {
    pub(super) fn spawn(program: &Program<'_>) -> io::Result<Self> {
        let child = DuplexChild::spawn(program)?;
        Ok(Self { child, reader: FrameReader::default(), outbox: VecDeque::new(), stderr: Vec::new() })
    }

    pub(super) fn poll_fds(&self) -> Vec<PollFd<'_>> {
        let mut watched = vec![PollFd::new(self.child.running.as_fd(), PollFlags::POLLIN)];
        watched.extend(self.child.outputs().map(|stream| PollFd::new(stream, PollFlags::POLLIN)));
        if !self.outbox.is_empty() {
            watched.extend(self.child.input().map(|stdin| PollFd::new(stdin, PollFlags::POLLOUT)));
        }
        watched
    }

    /// Queues a frame for the agent and returns it as the line to log. Fails when too many bytes wait in the queue, because the
    /// agent does not read its input.
    pub(super) fn send(&mut self, frame: &Value) -> Result<String, &'static str> {
        let line = frame.to_string();
        self.outbox.extend(line.as_bytes());
        self.outbox.push_back(b'\n');
        if self.outbox.len() > MAX_OUTBOX_BYTES { Err("it does not read its input") } else { Ok(line) }
    }

    pub(super) fn write(&mut self) {
        while !self.outbox.is_empty() {
            let (bytes, _) = self.outbox.as_slices();
            let written = self.child.write(bytes);
            if written == 0 {
                return;
            }
            self.outbox.drain(..written);
        }
        self.outbox.shrink_to(64 << 10);
    }

    /// Reads the output of the agent that is ready now and returns the number of bytes and the frames in it. For the log, `see`
    /// gets each line of stdout with the character `<`, and the bytes of stderr with `!`.
    pub(super) fn read(&mut self, see: &mut dyn FnMut(char, &[u8])) -> (usize, Vec<Result<Frame, &'static str>>) {
        let Self { child, reader, stderr, .. } = self;
        let mut frames = Vec::new();
        let read = child.read(&mut |stream, bytes| match stream {
            ChildStream::Stdout => reader.push(bytes, &mut |line| {
                frames.push(match line {
                    Line::Complete(line) => {
                        see('<', line);
                        Frame::parse(line)
                    }
                    Line::TooLong => Err("a line above the limit"),
                });
            }),
            ChildStream::Stderr => {
                see('!', bytes);
                stderr.extend_from_slice(bytes);
                let surplus = stderr.len().saturating_sub(MAX_STDERR_BYTES);
                stderr.drain(..surplus);
            }
        });
        (read, frames)
    }

    /// The end of the text that the agent wrote to stderr, with escape sequences removed and secrets masked.
    pub(super) fn last_stderr(&self) -> String {
        secrets::mask(ansi::visible_text(&String::from_utf8_lossy(&self.stderr)).trim())
    }
}
