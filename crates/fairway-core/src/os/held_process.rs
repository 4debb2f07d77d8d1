//! A held process: it exists, so that its pid can be recorded, and becomes the program when it is released. It is this
//! executable under another name, which `main` checks before anything else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;

use super::command::{Program, command, command_of_argv, in_new_session};
use super::pipe::set_nonblocking;
use super::process::ProcessKey;
use super::{exec, signals};

/// The first argument of a held process.
const HELD_ARGV0: &str = "fairway-gate";
/// This executable, also when its file was replaced.
const SELF_EXE: &str = "/proc/self/exe";
const RELEASE_BYTE: u8 = b'g';

/// The standard streams of a program.
#[derive(Debug)]
pub struct Streams {
    pub stdin: Stdio,
    pub stdout: Stdio,
    pub stderr: Stdio,
    /// Whether stdin is a terminal that becomes the controlling one.
    pub is_terminal: bool,
}

/// A held process. When it is dropped before [`release`](Self::release), it exits without running the program.
#[derive(Debug)]
pub struct HeldProcess {
    control: UnixStream,
    key: ProcessKey,
}

/// The state of a released process.
#[derive(Debug)]
pub enum ReleaseState {
    Started,
    ExecFailed(io::Error),
    /// The exec is not done yet.
    Pending,
}

/// Starts a process in a session of its own that waits for [`HeldProcess::release`] before it runs `program`. Besides its
/// standard streams it inherits only its end of the socket for the release.
#[expect(unsafe_code, reason = "a descriptor can only be handed on between fork and exec")]
pub fn spawn_held(program: &Program<'_>, streams: Streams) -> io::Result<HeldProcess> {
    if program.argv.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program"));
    }
    let (line, theirs) = UnixStream::pair()?;
    let number = theirs.as_raw_fd();
    let mut command = command(SELF_EXE, &[]);
    command.arg0(HELD_ARGV0).arg(number.to_string()).args(program.argv);
    command.env_clear().envs(program.env).current_dir(program.cwd);
    command.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
    in_new_session(&mut command, streams.is_terminal);
    // SAFETY: the call is async-signal-safe and touches no memory of ours.
    unsafe {
        command.pre_exec(move || {
            Errno::result(libc::fcntl(number, libc::F_SETFD, 0))?;
            Ok(())
        });
    }
    let child = signals::with_empty_mask(&mut command).spawn()?;
    drop(theirs);
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let key = ProcessKey::of(pid).ok_or_else(|| io::Error::other("the held process has ended"))?;
    set_nonblocking(line.as_fd())?;
    Ok(HeldProcess { control: line, key })
}

impl HeldProcess {
    /// The identity of the process. It stays valid when the process becomes the program.
    pub const fn key(&self) -> &ProcessKey {
        &self.key
    }

    /// Lets the process run the program, and returns at once: [`Self::poll_state`] tells whether it has started.
    pub fn release(&mut self) -> io::Result<()> {
        self.control.write_all(&[RELEASE_BYTE])
    }

    /// Whether the program was started after the release. Does not block.
    pub fn poll_state(&mut self) -> ReleaseState {
        let mut number = [0; 4];
        match self.control.read(&mut number) {
            Ok(4) => ReleaseState::ExecFailed(io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                ReleaseState::Pending
            }
            // A successful exec closes its end of the socket.
            Ok(_) | Err(_) => ReleaseState::Started,
        }
    }
}

impl AsFd for HeldProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// The exit code of a held process that was not released or could not run its program; its parent knows the reason.
const EXIT_NOT_RUN: u8 = 127;

/// When this process was started by [`spawn_held`], waits for the release and becomes the program. Returns an exit code only when
/// it was not released or the program cannot be run. `None` in any other process.
pub fn main_if_held() -> Option<u8> {
    let mut words = std::env::args_os();
    if words.next().as_deref() != Some(OsStr::new(HELD_ARGV0)) {
        return None;
    }
    let number = words.next().and_then(|word| std::str::from_utf8(word.as_bytes()).ok()?.parse().ok());
    let argv: Vec<OsString> = words.collect();
    if let Some(mut line) = number.and_then(inherited_socket) {
        let mut byte = [0];
        if matches!(line.read(&mut byte), Ok(1)) && byte == [RELEASE_BYTE] {
            let error = exec_argv(&argv);
            let number = error.raw_os_error().unwrap_or(libc::EINVAL);
            let _ = line.write_all(&number.to_ne_bytes());
        }
    }
    Some(EXIT_NOT_RUN)
}

/// The inherited socket; `None` when there is no descriptor of that number.
#[expect(unsafe_code, reason = "a descriptor that was inherited has no owner yet")]
fn inherited_socket(number: RawFd) -> Option<File> {
    if number <= libc::STDERR_FILENO {
        return None;
    }
    // SAFETY: nothing was opened before; the parent left this descriptor open for this process alone.
    let line = unsafe { File::from_raw_fd(number) };
    match fcntl(&line, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
        Ok(_) => Some(line),
        // The descriptor is invalid and must not be closed.
        Err(_) => {
            std::mem::forget(line);
            None
        }
    }
}

fn exec_argv(argv: &[OsString]) -> io::Error {
    match exec::close_on_exec().and_then(|()| command_of_argv(argv)) {
        Ok(mut command) => {
            signals::reset_all();
            command.exec()
        }
        Err(error) => error,
    }
}
