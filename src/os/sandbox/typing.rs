//! The attempt to type into a terminal by the kernel, which the filter of a sandbox denies.

use std::{io, os::fd::AsRawFd};

use nix::{errno::Errno, libc, pty::openpty};

/// Puts a character into the input of a terminal of its own.
#[expect(unsafe_code, reason = "the request has no safe form in the crates used here")]
pub fn type_into_new_terminal() -> io::Result<()> {
    let terminal = openpty(None, None)?;
    let character = b'x';
    // SAFETY: the kernel reads one byte, which lives as long as the call.
    let done = unsafe { libc::ioctl(terminal.slave.as_raw_fd(), libc::TIOCSTI, &raw const character) };
    Errno::result(done)?;
    Ok(())
}
