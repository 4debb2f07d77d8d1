//! Replacing this process by another program, and closing descriptors for it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{io, thread};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::unistd::dup2_stdin;

use super::command::command_of_argv;

/// Replaces this process by another program with this environment. All descriptors but the three standard streams are closed:
/// a long-lived server would otherwise keep a lock that this process inherited. Returns only on failure, with the reason.
pub fn replace_process(words: &[OsString], env: &BTreeMap<OsString, OsString>) -> io::Error {
    let mut command = match close_on_exec().and_then(|()| command_of_argv(words)) {
        Ok(command) => command,
        Err(error) => return error,
    };
    command.env_clear().envs(env);
    exec(command)
}

/// Replaces this process by another program that keeps its descriptors, environment and working directory. Returns only on
/// failure, with the reason.
pub fn hand_over(words: &[OsString]) -> io::Error {
    match command_of_argv(words) {
        Ok(command) => exec(command),
        Err(error) => error,
    }
}

fn exec(mut command: Command) -> io::Error {
    let error = command.exec();
    io::Error::new(error.kind(), format!("{} cannot be run: {error}", command.get_program().to_string_lossy()))
}

/// Clears close-on-exec on a descriptor, so that programs that this process starts inherit it.
pub fn keep_on_exec(descriptor: &impl AsFd) -> io::Result<()> {
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}

/// Puts a pipe in the place of a file that is stdin: a program that inherits the file could open it again, for writing. A thread
/// copies the file into the pipe.
pub fn pipe_stdin() -> io::Result<()> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let (read, mut write) = io::pipe()?;
    dup2_stdin(&read)?;
    thread::Builder::new().name("stdin".into()).spawn(move || io::copy(&mut file, &mut write)).map(drop)
}

/// Sets close-on-exec on every descriptor above the three standard streams, so that programs that this process starts do not
/// inherit them.
#[expect(unsafe_code, reason = "close_range has no safe form in the crates used here")]
pub fn close_on_exec() -> io::Result<()> {
    // SAFETY: plain numbers; nothing is closed before this process's image is gone.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    match Errno::result(done) {
        Ok(_) => return Ok(()),
        // Kernels before 5.11.
        Err(Errno::ENOSYS | Errno::EINVAL) => {}
        Err(error) => return Err(error.into()),
    }
    for entry in fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if number > 2 {
            // SAFETY: plain numbers; one that is closed by now is refused by the kernel.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}
