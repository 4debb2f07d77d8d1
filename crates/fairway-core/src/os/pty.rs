//! Programs in a pseudoterminal.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags};
use nix::pty::openpty;
use nix::sys::signal::{Signal, killpg};
use nix::sys::termios::{self, LocalFlags, SpecialCharacterIndices, Termios};
use nix::unistd::Pid;

use super::command::{Program, in_new_session};
use super::head_tail_buffer::HeadTailBuffer;
use super::pipe::{read_available, set_nonblocking};
use super::poll::poll;
use super::session_leader::Running;
use super::terminal::{self, Size};

/// How much of an offscreen program's output is kept, in bytes.
const CAPTURE_LIMIT: usize = 8 * 1024;
/// How many bytes of output are read before the program and the time limit are looked at again.
const MAX_TURN: usize = 1 << 20;

/// The master end of a program's terminal: writes are its input, reads its output. Does not block.
#[derive(Debug)]
pub struct Pty {
    controller: File,
}

/// Starts a program in a session of its own, with a new controlling terminal of this size, which gets the settings `like` if
/// there are any.
pub fn spawn(program: &Program<'_>, size: Size, like: Option<&Termios>) -> io::Result<(Pty, Running)> {
    let mut command = program.command()?;
    let (ours, end) = open_pair(size, like)?;
    command.stdin(end.try_clone()?).stdout(end.try_clone()?).stderr(end);
    let running = Running::from_child(&in_new_session(&mut command, true).spawn()?)?;
    // The command holds copies of the program's end; while they are open, the output has no end.
    drop(command);
    Ok((ours, running))
}

/// Opens a new terminal of this size. Returns the master end and the program's end.
pub fn open(size: Size) -> io::Result<(Pty, OwnedFd)> {
    open_pair(size, None)
}

fn open_pair(size: Size, like: Option<&Termios>) -> io::Result<(Pty, OwnedFd)> {
    let pty = openpty(None, like)?;
    terminal::resize(pty.master.as_fd(), size)?;
    for end in [&pty.master, &pty.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    set_nonblocking(pty.master.as_fd())?;
    Ok((Pty { controller: File::from(pty.master) }, pty.slave))
}

impl Read for Pty {
    /// Reads available output: `WouldBlock` when there is none yet, 0 when no process has the terminal open.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.controller.read(buffer) {
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            done => done,
        }
    }
}

impl Pty {
    /// Writes as much input as the terminal takes now; `WouldBlock` when that is nothing.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.controller.write(bytes)
    }

    /// The byte that means end of file when it is typed in canonical mode; `None` in raw mode, where no byte does.
    pub fn canonical_eof(&self) -> Option<u8> {
        let mode = termios::tcgetattr(&self.controller).ok()?;
        mode.local_flags.contains(LocalFlags::ICANON).then(|| self.eof_byte())
    }

    /// The byte that means end of file in canonical mode: Ctrl-D, unless the program has set another.
    pub fn eof_byte(&self) -> u8 {
        const USUAL: u8 = 4;
        let chosen = |mode: Termios| mode.control_chars.get(SpecialCharacterIndices::VEOF as usize).copied();
        // 0 disables it.
        termios::tcgetattr(&self.controller).ok().and_then(chosen).filter(|byte| *byte != 0).unwrap_or(USUAL)
    }

    pub fn resize(&self, size: Size) -> io::Result<()> {
        terminal::resize(self.controller.as_fd(), size)
    }
}

impl AsFd for Pty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.controller.as_fd()
    }
}

impl AsRawFd for Pty {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.controller.as_raw_fd()
    }
}

/// The result of a program that ran offscreen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffscreenResult {
    /// The exit code; `None` when the program took too long and was killed.
    pub code: Option<i32>,
    pub output: Vec<u8>,
}

/// Runs a program in a terminal that is not shown, until it ends or has run for `limit`. At the limit it is killed, and the
/// result has no exit code. This is for terminal multiplexers and the like, which take their size from the first terminal.
pub fn run_offscreen(program: &Program<'_>, size: Size, limit: Duration) -> io::Result<OffscreenResult> {
    let deadline = Instant::now() + limit;
    let (mut pty, running) = spawn(program, size, None)?;
    // The terminal stays open until the end: closing it would hang up on a program that has only closed its streams.
    let (mut output, mut readable) = (HeadTailBuffer::new(CAPTURE_LIMIT), Some(&mut pty));
    loop {
        read_available(&mut readable, MAX_TURN, |bytes| output.push(bytes));
        if let Some(code) = running.reap()? {
            return Ok(OffscreenResult { code: Some(code), output: output.to_bytes() });
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // The child is not reaped yet, so its pid is not reused.
            let _ = killpg(Pid::from_raw(running.pid()), Signal::SIGKILL);
            return Ok(OffscreenResult { code: None, output: output.to_bytes() });
        }
        let mut watched = vec![PollFd::new(running.as_fd(), PollFlags::POLLIN)];
        watched.extend(readable.as_ref().map(|pty| PollFd::new(pty.as_fd(), PollFlags::POLLIN)));
        poll(&mut watched, Some(left))?;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    #[test]
    fn program_has_a_controlling_terminal_of_the_size_and_sees_it_change() {
        let script = "stty size; trap 'stty size; exit 7' WINCH; ps -o tty= -p $$ >&2; : < /dev/tty && echo own; while :; do sleep 0.01; done";
        let argv = ["/bin/sh", "-c", script].map(OsString::from);
        let env = BTreeMap::from([(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))]);
        let program = Program { argv: &argv, env: &env, cwd: Path::new("/") };
        let (mut pty, mut running) = spawn(&program, Size { rows: 33, cols: 44 }, None).unwrap();
        let (mut seen, mut resized) = (String::new(), false);
        loop {
            let mut buffer = [0; 4096];
            let mut ready = [PollFd::new(pty.as_fd(), PollFlags::POLLIN)];
            poll(&mut ready, Some(Duration::from_secs(10))).unwrap();
            assert_eq!(ready[0].any(), Some(true), "{seen}");
            match pty.read(&mut buffer).unwrap() {
                0 => break,
                read => seen.push_str(&String::from_utf8_lossy(&buffer[..read])),
            }
            if seen.contains("own") && !resized {
                resized = true;
                pty.resize(Size { rows: 5, cols: 6 }).unwrap();
            }
        }
        assert!(seen.starts_with("33 44\r\npts/") && seen.ends_with("own\r\n5 6\r\n"), "{seen:?}");
        let code = running.wait_with_timeout(Some(Duration::from_secs(10)), &mut |_| {}).unwrap();
        assert_eq!(code, Some(7));
    }

    fn sh(script: &str, limit: Duration) -> OffscreenResult {
        let argv = ["/bin/sh", "-c", script].map(OsString::from);
        let env = BTreeMap::from([(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))]);
        run_offscreen(&Program { argv: &argv, env: &env, cwd: Path::new("/") }, Size { rows: 7, cols: 9 }, limit)
            .unwrap()
    }

    #[test]
    fn hidden_terminal_keeps_the_output_and_ends() {
        let long = Duration::from_secs(30);
        assert_eq!(sh("stty size; exit 3", long), OffscreenResult { code: Some(3), output: b"7 9\r\n".to_vec() });
        let begun = Instant::now();
        assert_eq!(sh("sleep 60", Duration::from_millis(50)).code, None);
        // A child that keeps the terminal is not waited for.
        assert_eq!(sh("trap '' HUP; sleep 2 & exit 0", long).code, Some(0));
        assert!(begun.elapsed() < Duration::from_secs(20));
        // A program that closes its streams is not hung up on.
        assert_eq!(sh("exec </dev/null >/dev/null 2>&1; sleep 0.3; exit 4", long).code, Some(4));
    }
}
