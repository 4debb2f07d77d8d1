//! Reaping child processes, also adopted orphans.

use std::io;

use nix::{errno::Errno, libc};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Reaps every exited child and passes its pid and exit to `see`. Returns whether any child is left. Does not block.
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
