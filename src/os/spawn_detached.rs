//! Starts this executable again, detached: in its own session, without streams, in `/`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io,
    path::Path,
    process::{Child, Stdio},
};

use super::{
    command::{command, in_new_session},
    exec, executable, signals,
};

/// Starts a program without streams, which its caller ends.
pub fn spawn_silent(program: &Path, args: &[OsString], env: &BTreeMap<OsString, OsString>) -> io::Result<Child> {
    let mut command = command(program, args);
    command.env_clear().envs(env).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    signals::with_empty_mask(&mut command).spawn()
}

/// Starts this executable with these arguments and this complete environment. `handed` becomes its stdin: a lock of that
/// file is then inherited without a gap. The process is not waited for.
pub fn spawn_self(args: &[OsString], env: &BTreeMap<OsString, OsString>, handed: Option<File>) -> io::Result<()> {
    // A lock that the caller has would otherwise be kept as long as this process lives.
    exec::close_on_exec()?;
    let mut command = command(executable::current_executable()?, args);
    command.env_clear().envs(env).current_dir("/");
    command.stdin(handed.map_or_else(Stdio::null, Stdio::from)).stdout(Stdio::null()).stderr(Stdio::null());
    signals::with_empty_mask(in_new_session(&mut command, false)).spawn().map(drop)
}
