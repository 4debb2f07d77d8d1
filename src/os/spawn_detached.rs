//! Starts this executable again, detached: in its own session, without streams, in `/`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use nix::unistd;

/// Starts this executable with these arguments and this complete environment. `handed` becomes its stdin: a lock of that
/// file is then inherited without a gap. The process is not waited for.
///
/// # Errors
/// When it cannot be started.
#[expect(clippy::disallowed_methods, reason = "one of the places that start processes")]
#[expect(unsafe_code, reason = "a session of its own can only be made between fork and exec")]
pub fn spawn_self(args: &[OsString], env: &BTreeMap<OsString, OsString>, handed: Option<File>) -> io::Result<()> {
    // A lock that the caller has would otherwise be kept as long as this process lives.
    super::exec::close_on_exec()?;
    let mut command = Command::new(super::executable::current_executable()?);
    command.args(args).env_clear().envs(env).current_dir("/");
    command.stdin(handed.map_or_else(Stdio::null, Stdio::from)).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the call is async-signal-safe and touches no memory of ours.
    unsafe { command.pre_exec(|| unistd::setsid().map(drop).map_err(io::Error::from)) };
    super::signals::with_empty_mask(&mut command).spawn().map(drop)
}
