//! Starting this very program anew, apart from whoever does so: in a session of its own, on no streams, in `/`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io,
    os::{fd::BorrowedFd, unix::process::CommandExt},
    process::{Command, Stdio},
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::wait::{WaitPidFlag, WaitStatus, waitpid},
    unistd,
};

/// Starts this program with these words and this whole environment. It reads from `handed` when that is given: so a lock that
/// belongs to that file is its own from its first moment. Nobody waits for it.
///
/// # Errors
/// When it cannot be started.
#[expect(clippy::disallowed_methods, reason = "one of the places that start processes")]
#[expect(unsafe_code, reason = "a session of its own can only be made between fork and exec")]
pub fn spawn_self(args: &[OsString], env: &BTreeMap<OsString, OsString>, handed: Option<File>) -> io::Result<()> {
    // A lock that whoever called holds would else be held as long as this lives.
    super::exec::close_on_exec()?;
    let mut command = Command::new(super::executable::current_executable()?);
    command.args(args).env_clear().envs(env).current_dir("/");
    command.stdin(handed.map_or_else(Stdio::null, Stdio::from)).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the call is async-signal-safe and touches no memory of ours.
    unsafe { command.pre_exec(|| unistd::setsid().map(drop).map_err(io::Error::from)) };
    super::signals::with_empty_mask(&mut command).spawn().map(drop)
}

/// Buries what this process has started and has ended since; asks no more of it.
pub fn reap_children() {
    while let Ok(found) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if found == WaitStatus::StillAlive {
            return;
        }
    }
}

/// Sleeps until one of these becomes readable, a signal comes, or the limit is over (`None`: no limit).
pub fn wait_readable(until: &[BorrowedFd<'_>], limit: Option<Duration>) {
    let pause = limit.map_or(PollTimeout::NONE, |limit| {
        PollTimeout::from(u16::try_from(limit.as_millis().saturating_add(1)).unwrap_or(u16::MAX))
    });
    let mut ready: Vec<PollFd<'_>> = until.iter().map(|one| PollFd::new(*one, PollFlags::POLLIN)).collect();
    // Whoever was interrupted looks again.
    let _ = poll(&mut ready, pause);
}
