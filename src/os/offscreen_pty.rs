//! Runs a command in an offscreen terminal, for programs that take their size from the first terminal.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::{command::Program, head_tail_buffer::HeadTailBuffer, poll_timeout::poll_timeout, pty, terminal::Size};

/// How much of the output is kept, in bytes.
const CAPTURE_LIMIT: usize = 8 * 1024;

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code; `None` when it took too long and was killed.
    pub code: Option<i32>,
    /// Its output.
    pub screen: Vec<u8>,
}

/// Runs a command in a terminal of this size until it ends, for at most `limit`.
pub fn run(program: &Program<'_>, size: Size, limit: Duration) -> io::Result<Output> {
    let deadline = Instant::now() + limit;
    let (mut pty, running) = pty::spawn(program, size, None)?;
    let (mut screen, mut is_open) = (HeadTailBuffer::new(CAPTURE_LIMIT), true);
    loop {
        let mut buffer = [0; 4096];
        while is_open {
            match pty.read(&mut buffer) {
                Ok(0) => is_open = false,
                Ok(read) => screen.push(buffer.get(..read).unwrap_or_default()),
                Err(_) => break,
            }
        }
        if let Some(code) = running.reap()? {
            return Ok(Output { code: Some(code), screen: screen.to_bytes() });
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // The child is not reaped yet, so its pid is not reused.
            let _ = killpg(Pid::from_raw(running.pid()), Signal::SIGKILL);
            return Ok(Output { code: None, screen: screen.to_bytes() });
        }
        let mut watched = vec![PollFd::new(running.as_fd(), PollFlags::POLLIN)];
        if is_open {
            watched.push(PollFd::new(pty.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut watched, poll_timeout(Some(left))) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, ffi::OsString, path::Path};

    use super::*;

    fn sh(script: &str, limit: Duration) -> Output {
        let argv = ["/bin/sh", "-c", script].map(OsString::from);
        let env = BTreeMap::from([(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))]);
        run(&Program { argv: &argv, env: &env, cwd: Path::new("/") }, Size { rows: 7, cols: 9 }, limit).unwrap()
    }

    #[test]
    fn hidden_terminal_keeps_the_output_and_ends() {
        let long = Duration::from_secs(30);
        assert_eq!(sh("stty size; exit 3", long), Output { code: Some(3), screen: b"7 9\r\n".to_vec() });
        let begun = Instant::now();
        assert_eq!(sh("sleep 60", Duration::from_millis(50)).code, None);
        // A child that keeps the terminal is not waited for.
        assert_eq!(sh("trap '' HUP; sleep 2 & exit 0", long).code, Some(0));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
