//! Signals: read as events, blocked until this process has finished its work, or set back to their defaults.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI32};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::pipe::set_nonblocking;

static ARE_ENDS_DEFERRED: AtomicBool = AtomicBool::new(false);

/// The pipe that the handler writes to; a handler takes no arguments.
static WRITE_FD: AtomicI32 = AtomicI32::new(-1);

/// Signals that are caught until this is dropped; only one at a time. Nothing is blocked, because child processes would
/// inherit that; handlers are reset to the default in each of them.
#[derive(Debug)]
pub struct SignalPipe {
    read: File,
    _write: OwnedFd,
    previous: Vec<(Signal, SigAction)>,
}

#[expect(unsafe_code, reason = "the one thing that a signal handler may do is a plain system call")]
extern "C" fn write_signal(signal: libc::c_int) {
    let kept = Errno::last_raw();
    let number = u8::try_from(signal).unwrap_or_default();
    // SAFETY: one byte that is there for the whole call; a closed descriptor is an error without a reader.
    let _ = unsafe { libc::write(WRITE_FD.load(Relaxed), (&raw const number).cast(), 1) };
    Errno::set_raw(kept);
}

impl SignalPipe {
    /// Catches these signals from now on, so that [`Self::next`] returns them.
    #[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
    pub fn install(signals: &[Signal]) -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        set_nonblocking(read.as_fd())?;
        // A handler must not block; so many unread signals never occur.
        set_nonblocking(write.as_fd())?;
        let write = OwnedFd::from(write);
        WRITE_FD.store(write.as_raw_fd(), Relaxed);
        let mut caught = Self { read: File::from(OwnedFd::from(read)), _write: write, previous: Vec::new() };
        let action = SigAction::new(SigHandler::Handler(write_signal), SaFlags::empty(), SigSet::empty());
        for signal in signals {
            // SAFETY: the handler makes one system call and keeps errno.
            caught.previous.push((*signal, unsafe { sigaction(*signal, &action) }?));
        }
        Ok(caught)
    }

    /// Stops this process and its group, as Ctrl-Z does, until the shell continues them. A process without a shell that could
    /// continue it goes on at once.
    #[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
    pub fn stop_group(&self) -> io::Result<()> {
        let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: no handler is installed, only taken away, and put back afterwards.
        let caught = unsafe { sigaction(Signal::SIGTSTP, &usual) }?;
        let stopped = nix::sys::signal::kill(nix::unistd::Pid::from_raw(0), Signal::SIGTSTP);
        // SAFETY: what stood there before is put back.
        unsafe { sigaction(Signal::SIGTSTP, &caught) }?;
        Ok(stopped?)
    }

    /// The next received signal; `None` when there is none yet. Does not block.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        let mut number = [0];
        match (&self.read).read(&mut number) {
            Ok(_) => Ok(Some(Signal::try_from(i32::from(number[0]))?)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Ends this process by a signal, so that its parent sees which one. Returns only on failure, or when the signal does not end a
/// process.
pub fn end_by(signal: Signal) -> io::Result<()> {
    reset_all();
    Ok(nix::sys::signal::raise(signal)?)
}

impl AsFd for SignalPipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

impl Drop for SignalPipe {
    #[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
    fn drop(&mut self) {
        for (signal, before) in &self.previous {
            // SAFETY: what stood there before is put back.
            let _ = unsafe { sigaction(*signal, before) };
        }
        WRITE_FD.store(-1, Relaxed);
    }
}

/// The signal of a name in any letter case, with or without `SIG`, or of a number; `None` for any other text.
pub fn parse(text: &str) -> Option<Signal> {
    if let Ok(number) = text.parse::<i32>() {
        return Signal::try_from(number).ok();
    }
    let name = text.to_ascii_uppercase();
    Signal::from_str(&name).or_else(|_| Signal::from_str(&format!("SIG{name}"))).ok()
}

/// Resets every signal to its default action: the parent may have ignored some (such as SIGINT), and child processes would
/// inherit that.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn reset_all() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: no handler is installed, only taken away; the kernel refuses for the two that have none.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// Resets SIGCHLD to its default: the parent may have ignored it, and the kernel then discards exit statuses.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn enable_sigchld() {
    // SAFETY: no handler is installed, only taken away.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Ignores SIGXFSZ: a write beyond the file size limit then fails with an error, like a full disk, and does not end the
/// process.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn ignore_sigxfsz() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Blocks INT, QUIT, TERM and HUP in this thread, and in the threads that it starts from now on, until the process ends, so
/// that it can finish its work. Commands that it starts are not affected.
pub fn defer_ends() -> io::Result<()> {
    SigSet::from_iter([Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    ARE_ENDS_DEFERRED.store(true, Relaxed);
    Ok(())
}

/// Whether [`defer_ends`] was called. A command must then be started with [`with_empty_mask`].
pub(super) fn are_ends_deferred() -> bool {
    ARE_ENDS_DEFERRED.load(Relaxed)
}

/// Makes a command start with an empty signal mask; the standard library would pass on the mask of this thread.
#[expect(unsafe_code, reason = "the mask of another program can only be set between fork and exec")]
pub fn with_empty_mask(command: &mut Command) -> &mut Command {
    // SAFETY: the call is async-signal-safe and touches no memory of ours.
    unsafe { command.pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs programs of its own")]
mod tests {
    use nix::sys::signal::{SigmaskHow, raise};

    use super::*;

    #[test]
    fn caught_signal_is_read_and_ends_nothing() {
        let caught = SignalPipe::install(&[Signal::SIGUSR1]).unwrap();
        assert_eq!(caught.next().unwrap(), None);
        raise(Signal::SIGUSR1).unwrap();
        assert_eq!(caught.next().unwrap(), Some(Signal::SIGUSR1));
        assert_eq!(caught.next().unwrap(), None);
    }

    #[test]
    fn signals_go_by_name_and_number() {
        for text in ["TERM", "sigterm", "15"] {
            assert_eq!(parse(text), Some(Signal::SIGTERM), "{text}");
        }
        for text in ["", "SIG", "0", "-15", "65", "TERMINATE", "SIGSIGTERM"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn blocked_signal_is_not_blocked_in_a_program() {
        let held: SigSet = [Signal::SIGUSR2].into_iter().collect();
        let before = held.thread_swap_mask(SigmaskHow::SIG_BLOCK).unwrap();
        let mut command = Command::new("/bin/cat");
        let output = with_empty_mask(command.arg("/proc/self/status")).output().unwrap();
        before.thread_set_mask().unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        assert!(status.contains("SigBlk:\t0000000000000000"), "{status}");
    }
}
