//! Signals that are kept from this process, and not from the commands that it starts.

use std::{
    io,
    os::unix::process::CommandExt,
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use nix::sys::signal::{SigSet, Signal};

static ARE_ENDS_DEFERRED: AtomicBool = AtomicBool::new(false);

/// Keeps the signals that end a process from this thread, and from the threads that it starts from now on, until the process ends:
/// it has something to finish. A command that is run meanwhile gets them as ever.
pub fn defer_ends() -> io::Result<()> {
    let mut ends = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP] {
        ends.add(signal);
    }
    ends.thread_block()?;
    ARE_ENDS_DEFERRED.store(true, Relaxed);
    Ok(())
}

/// Whether [`defer_ends`] was called: a command must then be started with [`with_empty_mask`].
pub fn are_ends_deferred() -> bool {
    ARE_ENDS_DEFERRED.load(Relaxed)
}

/// Makes a command start with an empty signal mask; the standard library would pass on the mask of this thread.
#[expect(unsafe_code, reason = "the mask of another program can only be set between fork and exec")]
pub fn with_empty_mask(command: &mut Command) -> &mut Command {
    // SAFETY: the call is async-signal-safe and touches no memory of ours.
    unsafe { command.pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) }
}
