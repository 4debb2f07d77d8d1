//! Executable files: lookup in PATH, and the file of this process, which can be started again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::unistd::{AccessFlags, access};

use super::command::{command, in_new_session};
use super::{exec, signals};

/// The PATH that counts when the environment has none.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The executable file of a program; `None` when there is none. A `word` with a slash is a path relative to `cwd`; any other is
/// looked up in `path`, or in [`DEFAULT_PATH`] without one.
pub fn find(word: &str, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(cwd.join(word)).filter(|file| is_executable(file));
    }
    find_all(word, path, cwd).next()
}

/// All executable files of a program name without a slash, in the order of `path`, or of [`DEFAULT_PATH`] without one.
pub fn find_all<'a>(word: &'a str, path: Option<&'a OsStr>, cwd: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let dirs = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
    std::env::split_paths(dirs).map(move |dir| cwd.join(dir).join(word)).filter(|file| is_executable(file))
}

pub fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

/// Whether this user may write to this path. `false` when it does not exist.
pub fn is_writable(path: &Path) -> bool {
    access(path, AccessFlags::W_OK).is_ok()
}

/// The executable file of this process. Fails with `NotFound` when the file was replaced while the process ran.
pub fn current_executable() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    if own.is_file() {
        return Ok(own);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "the running program's file was replaced; start it again"))
}

/// Starts this executable again in a session of its own, in `/`, with this complete environment and with `/dev/null` as its
/// streams. `handed` becomes its stdin instead, so that it inherits a lock of that file without a gap. The process is not waited
/// for.
pub fn spawn_self(args: &[OsString], env: &BTreeMap<OsString, OsString>, handed: Option<File>) -> io::Result<()> {
    // A lock that the caller has would otherwise be kept as long as this process lives.
    exec::close_on_exec()?;
    let mut command = command(current_executable()?, args);
    command.env_clear().envs(env).current_dir("/");
    command.stdin(handed.map_or_else(Stdio::null, Stdio::from)).stdout(Stdio::null()).stderr(Stdio::null());
    signals::with_empty_mask(in_new_session(&mut command, false)).spawn().map(drop)
}

/// Starts this executable again without a stdin, and waits for the first line of its output, which means that it is ready.
/// Returns that line. When it ends before that, the inner `Err` holds its stderr, or how it ended when it printed no error.
pub fn spawn_self_until_ready(
    args: &[OsString],
    env: &BTreeMap<OsString, OsString>,
) -> io::Result<Result<String, String>> {
    // A lock that the caller has would otherwise be kept as long as the session lives.
    exec::close_on_exec()?;
    let mut child = command(current_executable()?, args)
        .env_clear()
        .envs(env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.ends_with('\n') {
        return Ok(Ok(line));
    }
    let mut stderr = String::new();
    if let Some(pipe) = child.stderr.take() {
        pipe.take(64 * 1024).read_to_string(&mut stderr)?;
    }
    let exit = child.wait()?;
    if stderr.trim().is_empty() {
        stderr = format!("its process ended before it was ready ({exit})");
    }
    Ok(Err(stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_where_a_shell_looks() {
        let root = Path::new("/");
        assert_eq!(find("sh", Some(OsStr::new("/nowhere:/bin")), root), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("bin/sh", None, root), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("sh", Some(OsStr::new("/nowhere")), root), None);
        assert_eq!(find("/etc/passwd", None, root), None);
        assert!(current_executable().is_ok());
    }
}
