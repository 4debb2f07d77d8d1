//! Programs to start. This is the one place that makes a `std::process::Command`; its callers say what becomes of the streams
//! and of the process group.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

use nix::{errno::Errno, libc, unistd};

/// A program with all that it gets from its caller, its streams apart.
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
    /// The command that starts it.
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

/// Makes a command start in a session of its own, with its stdin as the controlling terminal where `stdin_is_terminal`.
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
