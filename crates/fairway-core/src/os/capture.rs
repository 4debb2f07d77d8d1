//! Runs a command to its end and captures its output. The command gets its own process group. At the time limit the group gets
//! TERM, two seconds later KILL. Background children that keep the pipes open are not waited for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tracing::field::Empty;

use super::command::command;
use super::exit_reason::ExitReason;
use super::pipe::{read_available, set_nonblocking};
use super::poll::poll;
use super::poll_until::poll_until;
use super::{process, signals};

/// How much of each stream is kept, in bytes; the rest is read and dropped.
pub const CAPTURE_LIMIT: usize = 1 << 20;

/// The time between TERM and KILL.
pub const GRACE: Duration = Duration::from_secs(2);

/// A command to run.
#[derive(Debug)]
pub struct Call<'a> {
    /// The program's path.
    pub program: &'a Path,
    /// The arguments, without the program name.
    pub args: &'a [OsString],
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    pub cwd: &'a Path,
    pub stdin: &'a [u8],
    pub limit: Duration,
    /// Whether the processes that the command left in its group are ended when it fails.
    pub ends_group: bool,
}

/// The captured output and the exit of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub exit: ExitReason,
    /// The output up to the limit; the rest is dropped.
    pub stdout: Vec<u8>,
    /// As for stdout.
    pub stderr: Vec<u8>,
}

/// Runs a command until it ends or reaches its time limit, and keeps at most [`CAPTURE_LIMIT`] bytes of each stream.
pub fn capture(call: &Call<'_>) -> io::Result<Captured> {
    capture_with_limit(call, CAPTURE_LIMIT)
}

/// Like [`capture`], with another limit for the captured bytes of each stream.
pub fn capture_with_limit(call: &Call<'_>, most: usize) -> io::Result<Captured> {
    capture_and_announce(call, most, |_| {})
}

/// Like [`capture_with_limit`]. `started` is called with the process id, which is also the group id, before any output is read.
pub fn capture_and_announce(call: &Call<'_>, most: usize, started: impl FnOnce(i32)) -> io::Result<Captured> {
    run(call, most, false, started, || None)
}

/// Like [`capture_with_limit`]. While the command runs, `help` is called, and again after the time that it returns. With
/// `in_foreground` the command stays in this process's group: it can ask at the terminal, and Ctrl-C there ends both.
pub fn capture_with_help(
    call: &Call<'_>,
    most: usize,
    in_foreground: bool,
    help: impl FnMut() -> Option<Duration>,
) -> io::Result<Captured> {
    run(call, most, in_foreground, |_| {}, help)
}

fn run(
    call: &Call<'_>,
    most: usize,
    in_foreground: bool,
    started: impl FnOnce(i32),
    mut help: impl FnMut() -> Option<Duration>,
) -> io::Result<Captured> {
    // Without the arguments: they can contain texts of people.
    let span = tracing::debug_span!("program", program = %call.program.display(), pid = Empty, exit = Empty).entered();
    let mut child = call.spawn(Stdio::piped(), in_foreground)?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    span.record("pid", pid);
    started(pid);
    let done = process::pidfd(pid)?.ok_or_else(|| io::Error::other("the command cannot be watched"))?;
    let mut pipes = Pipes::of(&mut child, call.stdin, most)?;
    let mut deadline = Instant::now() + call.limit;
    let mut sent = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let pause = help().map_or(left, |pause| pause.min(left));
        if pipes.wait(done.as_fd(), pause)? {
            break;
        }
        if Instant::now() < deadline {
            continue;
        }
        // The child is not reaped yet, so its process group id cannot be reused.
        let next = match sent {
            None => Signal::SIGTERM,
            Some(Signal::SIGTERM) => Signal::SIGKILL,
            Some(_) => return Err(io::Error::other("the command cannot be killed")),
        };
        if in_foreground {
            kill(Pid::from_raw(pid), next)?;
        } else {
            signal_group(pid, next)?;
        }
        sent = Some(next);
        deadline = Instant::now() + GRACE;
    }
    pipes.drain();
    if sent.is_some() {
        signal_group(pid, Signal::SIGKILL)?;
    }
    let failed = sent.is_some() || !has_exited_ok(pid)?;
    if failed && call.ends_group {
        end_group(pid)?;
    }
    let status = child.wait()?;
    let exit = if sent.is_some() { ExitReason::TimedOut } else { status.into() };
    span.record("exit", tracing::field::debug(exit));
    Ok(Captured { exit, stdout: pipes.stdout.captured, stderr: pipes.stderr.captured })
}

impl Call<'_> {
    /// Starts the command with pipes for stdin and stdout and with this stderr, as the leader of a process group unless it stays
    /// in this process's group.
    pub(super) fn spawn(&self, stderr: Stdio, in_foreground: bool) -> io::Result<Child> {
        let mut command = command(self.program, self.args);
        if in_foreground || signals::are_ends_deferred() {
            signals::with_empty_mask(&mut command);
        }
        command
            .env_clear()
            .envs(self.env)
            .current_dir(self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr);
        if !in_foreground {
            command.process_group(0);
        }
        command.spawn()
    }
}

/// Sends TERM to the process group of a command that [`capture_and_announce`] has started. Failures are ignored.
pub fn terminate_group(group: i32) {
    let _ = signal_group(group, Signal::SIGTERM);
}

/// Signals a process group; a group that is gone is no failure.
fn signal_group(group: i32, signal: Signal) -> io::Result<()> {
    match killpg(Pid::from_raw(group), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a child that has ended and is not reaped yet exited with 0.
fn has_exited_ok(pid: i32) -> io::Result<bool> {
    let status = waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)?;
    Ok(matches!(status, WaitStatus::Exited(_, 0)))
}

fn end_group(group: i32) -> io::Result<()> {
    let empty = || {
        let all = process::all().ok()?;
        (!all.iter().any(|one| one.group == group && !one.is_zombie())).then_some(())
    };
    if empty().is_some() {
        return Ok(());
    }
    signal_group(group, Signal::SIGTERM)?;
    if poll_until(GRACE, Duration::from_millis(20), empty).is_none() {
        signal_group(group, Signal::SIGKILL)?;
        let _ = poll_until(GRACE, Duration::from_millis(20), empty);
    }
    Ok(())
}

/// This process's ends of a command's three pipes.
struct Pipes<'a> {
    stdin: Option<ChildStdin>,
    unsent: &'a [u8],
    stdout: Stream<ChildStdout>,
    stderr: Stream<ChildStderr>,
}

struct Stream<T> {
    pipe: Option<T>,
    captured: Vec<u8>,
    /// How much is kept, in bytes.
    limit: usize,
}

impl<'a> Pipes<'a> {
    fn of(child: &mut Child, unsent: &'a [u8], limit: usize) -> io::Result<Self> {
        let stdin = child.stdin.take().filter(|_| !unsent.is_empty());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let pipes =
            [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        for pipe in pipes.into_iter().flatten() {
            set_nonblocking(pipe)?;
        }
        Ok(Self {
            stdin,
            unsent,
            stdout: Stream { pipe: stdout, captured: Vec::new(), limit },
            stderr: Stream { pipe: stderr, captured: Vec::new(), limit },
        })
    }

    /// Waits for events and handles them; returns whether the command has ended.
    fn wait(&mut self, done: BorrowedFd<'_>, left: Duration) -> io::Result<bool> {
        let ended = {
            let mut ready = vec![PollFd::new(done, PollFlags::POLLIN)];
            ready.extend(self.stdin.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)));
            ready.extend(self.stdout.pipe.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
            ready.extend(self.stderr.pipe.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
            poll(&mut ready, Some(left))?;
            ready.first().and_then(PollFd::any).unwrap_or(false)
        };
        self.write_stdin();
        self.stdout.read_some(CAPTURE_LIMIT);
        self.stderr.read_some(CAPTURE_LIMIT);
        Ok(ended)
    }

    fn write_stdin(&mut self) {
        while let Some(pipe) = &mut self.stdin {
            match pipe.write(self.unsent) {
                Ok(written) => self.unsent = self.unsent.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The command has closed its stdin; the rest is dropped.
                Err(_) => self.unsent = &[],
            }
            if self.unsent.is_empty() {
                self.stdin = None;
            }
        }
    }

    /// Reads what the command left in the pipes at its end.
    fn drain(&mut self) {
        self.stdin = None;
        self.stdout.read_some(self.stdout.limit);
        self.stderr.read_some(self.stderr.limit);
    }
}

impl<T: Read> Stream<T> {
    /// Reads what is available, at most about `most` bytes, and drops what is above the limit.
    fn read_some(&mut self, most: usize) {
        read_available(&mut self.pipe, most, |bytes| {
            let room = self.limit.saturating_sub(self.captured.len()).min(bytes.len());
            self.captured.extend_from_slice(bytes.get(..room).unwrap_or_default());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, stdin: &[u8], limit: Duration) -> Captured {
        let args = [OsString::from("-c"), OsString::from(script)];
        let env = BTreeMap::from([(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))]);
        let (program, cwd) = (Path::new("/bin/sh"), Path::new("/"));
        capture(&Call { program, args: &args, env: &env, cwd, stdin, limit, ends_group: true }).unwrap()
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn keeps_both_streams_and_the_code() {
        let seen = sh("cat; echo bad >&2; exit 3", b"in\0put", LONG);
        assert_eq!(
            seen,
            Captured { exit: ExitReason::Code(3), stdout: b"in\0put".to_vec(), stderr: b"bad\n".to_vec() }
        );
        assert_eq!(sh("kill -9 $$", b"", LONG).exit, ExitReason::Signal(9));
    }

    #[test]
    fn capture_cuts_a_flood_and_a_large_input_does_not_deadlock() {
        let input = vec![b'x'; 3 * CAPTURE_LIMIT];
        let seen = sh("cat; printf end >&2", &input, LONG);
        assert_eq!((seen.exit, seen.stdout.len(), &seen.stderr[..]), (ExitReason::Code(0), CAPTURE_LIMIT, &b"end"[..]));
        assert_eq!(sh("exit 0", &input, LONG).exit, ExitReason::Code(0));
    }

    #[test]
    fn background_child_that_keeps_the_pipes_is_not_waited_for() {
        let start = Instant::now();
        let seen = sh("sleep 30 & echo $!", b"", LONG);
        assert!(start.elapsed() < Duration::from_secs(10));
        let pid: i32 = String::from_utf8(seen.stdout).unwrap().trim().parse().unwrap();
        let child = process::ProcessKey::of(pid).expect("the child was left alone");
        child.signal(Signal::SIGKILL).unwrap();
    }

    #[test]
    fn time_over_ends_the_whole_group_even_one_that_ignores_term() {
        let seen =
            sh("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 60' & sleep 60", b"", Duration::from_millis(300));
        assert_eq!(seen.exit, ExitReason::TimedOut);
        let pid: i32 = String::from_utf8(seen.stdout).unwrap().trim().parse().unwrap();
        let gone = || process::ProcessKey::of(pid).is_none().then_some(());
        assert!(poll_until(Duration::from_secs(5), Duration::from_millis(5), gone).is_some());
    }

    #[test]
    fn leftover_processes_of_a_failed_command_are_ended() {
        let seen = sh("sleep 60 & echo $!; exit 1", b"", LONG);
        let pid: i32 = String::from_utf8(seen.stdout).unwrap().trim().parse().unwrap();
        assert_eq!((seen.exit, process::ProcessKey::of(pid)), (ExitReason::Code(1), None));
    }
}
