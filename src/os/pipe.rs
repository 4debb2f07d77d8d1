//! Pipes to and from child processes.

use std::{io, os::fd::BorrowedFd};

use nix::fcntl::{FcntlArg, fcntl};

/// Sets this process's end to non-blocking mode. The program's end is not affected.
pub fn set_nonblocking(end: BorrowedFd<'_>) -> io::Result<()> {
    super::capture::set_nonblocking(end)
}

/// Sets a pipe's capacity in bytes where the user's limit allows it.
pub fn set_capacity(end: BorrowedFd<'_>, bytes: usize) {
    let _ = i32::try_from(bytes).map(|bytes| fcntl(end, FcntlArg::F_SETPIPE_SZ(bytes)));
}
