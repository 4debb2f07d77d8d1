//! Starting this very program anew, apart from whoever does so: in a session of its own, on no streams, in `/`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use nix::unistd;

/// Starts this program with these words and this whole environment. It reads from `handed` when that is given: so a lock that
/// belongs to that file is its own from its first moment. Nobody waits for it.
///
/// # Errors
/// When it cannot be started.
#[expect(clippy::disallowed_methods, reason = "one of the places that start processes")]
#[expect(unsafe_code, reason = "a session of its own can only be made between fork and exec")]
pub fn start(args: &[OsString], env: &BTreeMap<OsString, OsString>, handed: Option<File>) -> io::Result<()> {
    // A lock that whoever called holds would else be held as long as this lives.
    super::exec::close_on_exec()?;
    let mut command = Command::new(super::program::own()?);
    command.args(args).env_clear().envs(env).current_dir("/");
    command.stdin(handed.map_or_else(Stdio::null, Stdio::from)).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the call is async-signal-safe and touches no memory of ours.
    unsafe { command.pre_exec(|| unistd::setsid().map(drop).map_err(io::Error::from)) };
    command.spawn().map(drop)
}
