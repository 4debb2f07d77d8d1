//! Pipes to and from child processes.

use std::io::{self, Read};
use std::os::fd::BorrowedFd;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Sets a descriptor to non-blocking mode. The other end of a pipe is not affected.
pub fn set_nonblocking(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL)?);
    fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Sets the capacity of a pipe in bytes. It stays as it is when the user's limit does not allow that.
pub fn set_capacity(end: BorrowedFd<'_>, bytes: usize) {
    let _ = i32::try_from(bytes).map(|bytes| fcntl(end, FcntlArg::F_SETPIPE_SZ(bytes)));
}

/// Reads the bytes that a non-blocking stream has now and passes them to `see`. Stops after about `most` bytes, because a
/// program that prints without end must not keep its reader busy. Sets `stream` to `None` at its end and after an error.
pub fn read_available(stream: &mut Option<impl Read>, most: usize, mut see: impl FnMut(&[u8])) {
    let (mut buffer, mut total) = ([0; 16 * 1024], 0);
    while let Some(open) = stream
        && total < most
    {
        match open.read(&mut buffer) {
            Ok(0) => *stream = None,
            Ok(read) => {
                see(buffer.get(..read).unwrap_or_default());
                total += read;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => *stream = None,
        }
    }
}
