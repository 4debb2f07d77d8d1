//! A child in the background whose output is read as it comes, without a thread.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Read, Write as _},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Stdio},
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

use super::{capture::set_nonblocking, command::command, exit_reason::ExitReason, process, signals};

/// A child in a process group of its own.
#[derive(Debug)]
pub struct PipedChild {
    child: Child,
    ended: OwnedFd,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// The output since the last look.
#[derive(Debug, Default)]
pub struct Arrived {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// How it ended, once it has.
    pub exit: Option<ExitReason>,
}

impl PipedChild {
    /// Starts a program with this text on its stdin, which must fit into a pipe: 64 KiB.
    ///
    /// # Errors
    /// When it cannot be started, or the text is too long.
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
                // It has ended, or reads nothing; its exit tells.
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

    /// Descriptors to wait for: its output and its end.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let streams = [self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd)];
        streams.into_iter().flatten().chain([self.ended.as_fd()]).collect()
    }

    /// Takes what has come. Does not block.
    pub fn look(&mut self) -> io::Result<Arrived> {
        // The end is looked at first: what was written before it is then read for sure.
        let exit = self.child.try_wait()?.map(ExitReason::from);
        let mut arrived = Arrived { exit, ..Arrived::default() };
        if drain(self.stdout.as_mut(), &mut arrived.stdout) {
            self.stdout = None;
        }
        if drain(self.stderr.as_mut(), &mut arrived.stderr) {
            self.stderr = None;
        }
        Ok(arrived)
    }

    /// Sends a signal to it alone.
    pub fn signal(&mut self, signal: Signal) {
        // It is not reaped yet, so that its number is not given to another process.
        if let (Ok(None), Ok(pid)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Ends it with its process group, and waits for that.
    pub fn kill(mut self) {
        // It is not reaped yet, so that its number is not given to another process.
        if let (Ok(None), Ok(pid)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// Reads what is there, at most a megabyte. Returns whether the stream has ended.
fn drain(stream: Option<&mut impl Read>, into: &mut Vec<u8>) -> bool {
    const MOST: usize = 1 << 20;
    let Some(stream) = stream else { return false };
    let mut buffer = [0; 16 << 10];
    while into.len() < MOST {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(length) => into.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::readable;

    fn sh(text: &str, stdin: &[u8]) -> PipedChild {
        let args = ["-c".into(), text.into()];
        PipedChild::spawn(Path::new("/bin/sh"), &args, &BTreeMap::new(), Path::new("/"), stdin).unwrap()
    }

    #[test]
    fn output_comes_as_it_is_written_and_the_exit_at_last() {
        let mut child = sh("cat; echo no >&2; exit 3", b"text");
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let exit = loop {
            let _ = readable::wait(&child.fds(), None);
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
        let _ = readable::wait(&child.fds(), None);
        child.kill();
    }
}
