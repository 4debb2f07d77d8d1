//! A child that is spoken with: its stdin, stdout and stderr are pipes of this process. Nothing here blocks.

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt as _,
    },
    process::{ChildStderr, ChildStdin, ChildStdout, Stdio},
};

use super::{capture::set_nonblocking, child::Running, command::Program};

/// How much of a stream is read in one turn, in bytes: a flood must delay neither requests nor the end, and what it becomes is in
/// memory at a time.
const MAX_READ_BYTES: usize = 64 << 10;

/// A child in a process group of its own.
#[derive(Debug)]
pub struct DuplexChild {
    /// The process.
    pub running: Running,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// A stream of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildStream {
    Stdout,
    Stderr,
}

impl DuplexChild {
    /// Starts a program.
    pub fn spawn(program: &Program<'_>) -> io::Result<Self> {
        let mut command = program.command()?;
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let running = Running::from_child(&child)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pipes =
            [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        for pipe in pipes.into_iter().flatten() {
            set_nonblocking(pipe)?;
        }
        Ok(Self { running, stdin, stdout, stderr })
    }

    /// The open output streams, to poll for input.
    pub fn outputs(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let streams = [self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd)];
        streams.into_iter().flatten()
    }

    /// Its stdin, to poll for space.
    pub fn input(&self) -> Option<BorrowedFd<'_>> {
        self.stdin.as_ref().map(AsFd::as_fd)
    }

    /// Whether its stdout has ended.
    pub const fn is_stdout_closed(&self) -> bool {
        self.stdout.is_none()
    }

    /// Takes what it has printed. Returns the number of bytes.
    pub fn read(&mut self, see: &mut dyn FnMut(ChildStream, &[u8])) -> usize {
        let (out, is_out_open) = read_some(self.stdout.as_mut(), &mut |bytes| see(ChildStream::Stdout, bytes));
        if !is_out_open {
            self.stdout = None;
        }
        let (err, is_err_open) = read_some(self.stderr.as_mut(), &mut |bytes| see(ChildStream::Stderr, bytes));
        if !is_err_open {
            self.stderr = None;
        }
        out + err
    }

    /// Writes what its stdin takes. Returns the number of bytes; all of them when it has closed its stdin, as nothing reads
    /// them any more.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while let (Some(stdin), Some(rest)) = (&mut self.stdin, bytes.get(written..).filter(|rest| !rest.is_empty())) {
            match stdin.write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return written,
                Err(_) => self.stdin = None,
            }
        }
        bytes.len()
    }

    /// Closes its stdin: an agent that waits for input ends then.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }
}

/// Reads what is there; how much that was, and whether more may come.
fn read_some(stream: Option<&mut impl Read>, see: &mut dyn FnMut(&[u8])) -> (usize, bool) {
    let Some(stream) = stream else { return (0, false) };
    let (mut buffer, mut total) = ([0; 16 * 1024], 0);
    while total < MAX_READ_BYTES {
        match stream.read(&mut buffer) {
            Ok(0) => return (total, false),
            Ok(read) => {
                see(buffer.get(..read).unwrap_or_default());
                total += read;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (total, error.kind() == io::ErrorKind::WouldBlock),
        }
    }
    (total, true)
}
