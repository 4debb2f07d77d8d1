//! A process that leads others: it starts a session, adopts orphans, and outlives signals until its program has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::{libc, unistd};

use super::command::Program;
use super::pipe::{read_available, set_nonblocking};
use super::poll::poll;
use super::process::{self, ProcessKey};

/// How much output is read in one turn, in bytes: a flood must not delay the detection of the program's end.
const MAX_READ_BYTES: usize = 1 << 20;

/// Makes this process the leader of a new session and process group. Does nothing in a process that already leads a group.
pub fn setsid() {
    let _ = unistd::setsid();
}

/// Makes this process the subreaper: every orphan among its descendants becomes its child.
pub fn become_subreaper() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

extern "C" fn no_op_handler(_: libc::c_int) {}

/// The process group of the program on this process's terminal, until SIGHUP was forwarded to it.
static TERMINAL_GROUP: AtomicI32 = AtomicI32::new(0);

/// The kernel sends SIGHUP only to the session leader; this forwards it to the program, once.
#[expect(unsafe_code, reason = "a handler may only call what is safe in one")]
extern "C" fn forward_sighup(_: libc::c_int) {
    let group = TERMINAL_GROUP.swap(0, Ordering::SeqCst);
    if group > 0 {
        // SAFETY: plain numbers, and a call that is allowed in a handler.
        unsafe { libc::kill(-group, libc::SIGHUP) };
    }
}

/// Makes this process survive the signals that would end it, so that it ends only after the program that it runs. SIGHUP is
/// forwarded to that program. Signals are caught and not ignored, because child processes inherit ignored signals but not
/// handlers. SIGCHLD gets a handler too, so that it interrupts a wait.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn ignore_termination() -> io::Result<()> {
    let action = SigAction::new(SigHandler::Handler(no_op_handler), SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGCHLD] {
        // SAFETY: the handler touches nothing.
        unsafe { sigaction(signal, &action) }?;
    }
    let action = SigAction::new(SigHandler::Handler(forward_sighup), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler only calls what may be called in one.
    unsafe { sigaction(Signal::SIGHUP, &action) }?;
    Ok(())
}

/// Runs `make` with all signals blocked, so that threads that it starts receive none.
pub fn with_signals_blocked<T>(make: impl FnOnce() -> T) -> T {
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let made = make();
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
    made
}

/// A running program.
#[derive(Debug)]
pub struct Running {
    pid: i32,
    pidfd: OwnedFd,
    output: Option<File>,
}

/// Starts a program that uses the standard streams of this process. With `input`, the program runs in a process group of its own
/// and reads that file as its stdin, and [`Running::wait`] passes on what it prints.
pub fn spawn(program: &Program<'_>, input: Option<File>) -> io::Result<Running> {
    let mut command = program.command()?;
    let mut output = None;
    if let Some(input) = input {
        let (reader, writer) = io::pipe()?;
        set_nonblocking(reader.as_fd())?;
        command.stdin(input).stdout(writer.try_clone()?).stderr(writer).process_group(0);
        output = Some(File::from(OwnedFd::from(reader)));
    }
    let running = Running { output, ..Running::from_child(&command.spawn()?)? };
    if running.output.is_none()
        && let Ok(group) = unistd::getpgid(Some(unistd::Pid::from_raw(running.pid)))
    {
        TERMINAL_GROUP.store(group.as_raw(), Ordering::SeqCst);
    }
    Ok(running)
}

impl Running {
    /// Makes a [`Running`] for a child of this process. It does not read the output of the child.
    pub(super) fn from_child(child: &Child) -> io::Result<Self> {
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let done = process::pidfd(pid)?.ok_or_else(|| io::Error::other("the program cannot be watched"))?;
        Ok(Self { pid, pidfd: done, output: None })
    }

    /// The pid. It is also the process group id, except for a program that runs on this process's own streams.
    pub const fn pid(&self) -> i32 {
        self.pid
    }

    /// The permanent identity of the process; `None` when it is gone.
    pub fn key(&self) -> Option<ProcessKey> {
        ProcessKey::of(self.pid)
    }

    /// Waits until the program has ended, passes its output to `see` and reaps orphans. Returns the exit code (128 plus the
    /// signal number after a signal). Output that other processes print later is not waited for.
    pub fn wait(&mut self, mut see: impl FnMut(&[u8])) -> io::Result<i32> {
        loop {
            if let Some(code) = self.wait_with_timeout(None, &mut see)? {
                return Ok(code);
            }
        }
    }

    /// Like [`wait`](Self::wait), but returns `None` when the program is still running at the limit.
    pub fn wait_with_timeout(
        &mut self,
        limit: Option<Duration>,
        see: &mut impl FnMut(&[u8]),
    ) -> io::Result<Option<i32>> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            if let Some(code) = self.reap()? {
                self.read_output(see);
                return Ok(Some(code));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let mut ready = vec![PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
            ready.extend(self.output.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
            poll(&mut ready, left)?;
            self.read_output(see);
        }
    }

    /// Passes the bytes that are in the pipe now to `see`, at most about 1 MiB of them. Does not block.
    pub fn read_output(&mut self, see: &mut impl FnMut(&[u8])) {
        read_available(&mut self.output, MAX_READ_BYTES, see);
    }

    /// Reaps exited children until the program is among them, and then returns its exit code. `None` when none of them is the
    /// program. Does not block.
    pub fn reap(&self) -> io::Result<Option<i32>> {
        loop {
            let (pid, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, code),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, 128 + signal as i32),
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if pid.as_raw() == self.pid {
                TERMINAL_GROUP.store(0, Ordering::SeqCst);
                return Ok(Some(code));
            }
        }
    }
}

impl AsFd for Running {
    /// Becomes readable when the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    Code(i32),
    Signal(i32),
}

/// Reaps every exited child, adopted orphans too, and passes its pid and exit to `see`. Returns whether any child is left. Does
/// not block.
#[expect(unsafe_code, reason = "the crates used here lose how a child ended when a real-time signal did it")]
pub fn reap_exited(see: &mut dyn FnMut(i32, ChildExit)) -> io::Result<bool> {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one number, to where there is one.
        match Errno::result(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) }) {
            Ok(0) => return Ok(true),
            Ok(pid) if libc::WIFEXITED(status) => see(pid, ChildExit::Code(libc::WEXITSTATUS(status))),
            Ok(pid) if libc::WIFSIGNALED(status) => see(pid, ChildExit::Signal(libc::WTERMSIG(status))),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reaps all exited children and discards how they ended. Does not block.
pub fn reap_children() {
    // Without children, or when `waitpid` fails, there is nothing to reap.
    let _ = reap_exited(&mut |_, _| {});
}
