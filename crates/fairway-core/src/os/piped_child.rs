//! Children whose pipes are read and written without a thread and without blocking. A [`PipedChild`] works in the background and
//! is read to its end; with a [`DuplexChild`] this process exchanges messages.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::command::{Program, command};
use super::exit_reason::ExitReason;
use super::pipe::{read_available, set_nonblocking};
use super::session_leader::Running;
use super::{process, signals};

/// How much of a [`PipedChild`]'s stream is read in one turn, in bytes.
const MAX_READ_BYTES: usize = 1 << 20;
/// How much of a [`DuplexChild`]'s stream is read in one turn, in bytes. More would delay requests, and all that is made of these
/// bytes is in memory at once.
const MAX_TURN_BYTES: usize = 64 << 10;

/// A child in a process group of its own that works in the background.
#[derive(Debug)]
pub struct PipedChild {
    child: Child,
    ended: OwnedFd,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// The output since the last [`PipedChild::look`].
#[derive(Debug, Default)]
pub struct Arrived {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// How the child ended; `None` while it runs.
    pub exit: Option<ExitReason>,
}

impl PipedChild {
    /// Starts a program in a process group of its own, with this text on its stdin. The text must fit into a pipe: 64 KiB.
    ///
    /// # Errors
    /// When the program cannot be started, or the text is too long.
    pub fn spawn(
        program: &Path,
        args: &[OsString],
        env: &BTreeMap<OsString, OsString>,
        cwd: &Path,
        stdin: &[u8],
    ) -> io::Result<Self> {
        let mut command = command(program, args);
        command.env_clear().envs(env).current_dir(cwd).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = signals::with_empty_mask(&mut command).spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let ended = process::pidfd(pid)?.ok_or_else(|| io::Error::other("the command cannot be watched"))?;
        if let Some(mut pipe) = child.stdin.take() {
            set_nonblocking(pipe.as_fd())?;
            match pipe.write_all(stdin) {
                // The child has ended or reads nothing; its exit tells.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                other => other?,
            }
        }
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        for pipe in [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
            set_nonblocking(pipe)?;
        }
        Ok(Self { child, ended, stdout, stderr })
    }

    /// The descriptors to wait for: they become readable with output of the child and at its end.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let streams = [self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd)];
        streams.into_iter().flatten().chain([self.ended.as_fd()]).collect()
    }

    /// Reads the output that is ready now, and reaps the child when it has ended. Does not block.
    pub fn look(&mut self) -> io::Result<Arrived> {
        // The end is looked at first: what was written before it is then read for sure.
        let exit = self.child.try_wait()?.map(ExitReason::from);
        let mut arrived = Arrived { exit, ..Arrived::default() };
        read_available(&mut self.stdout, MAX_READ_BYTES, |bytes| arrived.stdout.extend_from_slice(bytes));
        read_available(&mut self.stderr, MAX_READ_BYTES, |bytes| arrived.stderr.extend_from_slice(bytes));
        Ok(arrived)
    }

    /// Sends a signal to the child alone, not to its group.
    pub fn signal(&mut self, signal: Signal) {
        // It is not reaped yet, so that its number is not given to another process.
        if let (Ok(None), Ok(pid)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Kills the child and its process group, and waits for its end. Does nothing when the child has already ended.
    pub fn kill(mut self) {
        // It is not reaped yet, so that its number is not given to another process.
        if let (Ok(None), Ok(pid)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// A child in a process group of its own that is sent requests and sends replies.
#[derive(Debug)]
pub struct DuplexChild {
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

    /// The stdin of the child, to poll for space; `None` when it is closed.
    pub fn input(&self) -> Option<BorrowedFd<'_>> {
        self.stdin.as_ref().map(AsFd::as_fd)
    }

    pub const fn is_stdout_closed(&self) -> bool {
        self.stdout.is_none()
    }

    /// Reads the output that is ready now and passes it to `see`. Returns the number of bytes. Does not block.
    pub fn read(&mut self, see: &mut dyn FnMut(ChildStream, &[u8])) -> usize {
        let mut total = 0;
        let mut hand_over = |stream, bytes: &[u8]| {
            total += bytes.len();
            see(stream, bytes);
        };
        read_available(&mut self.stdout, MAX_TURN_BYTES, |bytes| hand_over(ChildStream::Stdout, bytes));
        read_available(&mut self.stderr, MAX_TURN_BYTES, |bytes| hand_over(ChildStream::Stderr, bytes));
        total
    }

    /// Writes as much as the pipe takes now. Returns the number of bytes. When the child has closed its stdin, all bytes count as
    /// written, because nothing reads them any more.
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

    /// Closes the stdin of the child: an agent that waits for input then ends.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::poll::wait_readable;

    fn sh(text: &str, stdin: &[u8]) -> PipedChild {
        let args = ["-c".into(), text.into()];
        PipedChild::spawn(Path::new("/bin/sh"), &args, &BTreeMap::new(), Path::new("/"), stdin).unwrap()
    }

    #[test]
    fn output_comes_as_it_is_written_and_the_exit_at_last() {
        let mut child = sh("cat; echo no >&2; exit 3", b"text");
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let exit = loop {
            let _ = wait_readable(&child.fds(), None);
            let arrived = child.look().unwrap();
            stdout.extend(arrived.stdout);
            stderr.extend(arrived.stderr);
            if let Some(exit) = arrived.exit {
                break exit;
            }
        };
        assert_eq!((stdout.as_slice(), stderr.as_slice(), exit), (&b"text"[..], &b"no\n"[..], ExitReason::Code(3)));
    }

    #[test]
    fn killed_child_leaves_no_process() {
        let child = sh("sleep 60 & echo $!; wait", b"");
        let _ = wait_readable(&child.fds(), None);
        child.kill();
    }
}
