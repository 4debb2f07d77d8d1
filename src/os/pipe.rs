//! Pipes whose other end is a program's.

use std::{io, os::fd::BorrowedFd};

use nix::fcntl::{FcntlArg, fcntl};

/// Makes reads and writes on our end return at once. The program's end is another one, and blocks as it expects.
///
/// # Errors
/// When the kernel refuses.
pub fn set_nonblocking(end: BorrowedFd<'_>) -> io::Result<()> {
    super::capture::set_nonblocking(end)
}

/// Lets a pipe hold so many bytes, where that is allowed: what a user's pipes may hold together has a limit.
pub fn set_capacity(end: BorrowedFd<'_>, bytes: usize) {
    let _ = i32::try_from(bytes).map(|bytes| fcntl(end, FcntlArg::F_SETPIPE_SZ(bytes)));
}
