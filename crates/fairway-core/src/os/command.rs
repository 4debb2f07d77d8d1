//! Programs to start. This is the one place that makes a `std::process::Command`; most callers choose the streams and the process
//! group themselves.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::{libc, unistd};

use super::signals;

/// A program with its arguments, environment and working directory.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The working directory.
    pub cwd: &'a Path,
}

impl Program<'_> {
    /// The command that starts the program, with its environment and working directory.
    ///
    /// # Errors
    /// `InvalidInput` when `argv` is empty.
    pub(super) fn command(&self) -> io::Result<Command> {
        let mut command = command_of_argv(self.argv)?;
        command.env_clear().envs(self.env).current_dir(self.cwd);
        Ok(command)
    }
}

/// The command of a program and its arguments, with this process's environment and working directory.
///
/// # Errors
/// `InvalidInput` when `argv` is empty.
pub(super) fn command_of_argv(argv: &[OsString]) -> io::Result<Command> {
    let (program, args) =
        argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is no program"))?;
    Ok(command(program, args))
}

/// The command of a program and its arguments, with this process's environment and working directory.
#[expect(clippy::disallowed_methods, reason = "the one place that makes commands; argv as data")]
pub(super) fn command(program: impl AsRef<OsStr>, args: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// Makes a command start in a session of its own. With `stdin_is_terminal` its stdin becomes the controlling terminal.
#[expect(unsafe_code, reason = "a session and its terminal can only be taken between fork and exec")]
pub(super) fn in_new_session(command: &mut Command, stdin_is_terminal: bool) -> &mut Command {
    // SAFETY: both calls are async-signal-safe and touch no memory of ours.
    unsafe {
        command.pre_exec(move || {
            unistd::setsid()?;
            if stdin_is_terminal {
                Errno::result(libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0))?;
            }
            Ok(())
        })
    }
}

/// Starts a program in `/`, with `/dev/null` as its standard streams. The caller must end it and wait for it.
pub fn spawn_silent(program: &Path, args: &[OsString], env: &BTreeMap<OsString, OsString>) -> io::Result<Child> {
    let mut command = command(program, args);
    command.env_clear().envs(env).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    signals::with_empty_mask(&mut command).spawn()
}
