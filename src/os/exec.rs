//! Giving this process's place to another program, and what it must not inherit.

use std::{collections::BTreeMap, ffi::OsString, fs, io, os::unix::process::CommandExt, process::Command};

use nix::{errno::Errno, libc};

/// Becomes another program, with this environment and no descriptor but the three streams: a lock that whoever called holds
/// would else be held by a server for good. Returns only when that fails, with why.
#[expect(clippy::disallowed_methods, reason = "one of the places that start programs")]
#[must_use]
pub fn replace_process(words: &[OsString], env: &BTreeMap<OsString, OsString>) -> io::Error {
    let Some((program, args)) = words.split_first() else { return io::Error::other("there is no program") };
    if let Err(error) = close_on_exec() {
        return error;
    }
    let error = Command::new(program).args(args).env_clear().envs(env).exec();
    io::Error::new(error.kind(), format!("{} cannot be run: {error}", program.to_string_lossy()))
}

/// Marks every descriptor above the three streams to be closed by the next exec, also one of a child.
///
/// # Errors
/// When the kernel refuses.
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
