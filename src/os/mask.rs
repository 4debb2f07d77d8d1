//! The signals that a program does not get. One inherits its parent's mask, so a parent that keeps signals back for itself
//! takes that off its child again.

use std::{io, os::unix::process::CommandExt, process::Command};

use nix::sys::signal::SigSet;

/// Lets a command start with no signal blocked, whatever is blocked here.
#[expect(unsafe_code, reason = "what a child does before its program has no safe form")]
pub(super) fn clear(command: &mut Command) -> &mut Command {
    let nothing = || SigSet::empty().thread_set_mask().map_err(io::Error::from);
    // SAFETY: between fork and exec the closure makes one call that is safe for signal handlers, and allocates nothing.
    unsafe { command.pre_exec(nothing) }
}
