//! Executable files: lookup in PATH, and the file of this process.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

/// The PATH where none is set.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The file of a program name: with a slash a path relative to `cwd`, else the first match in `path`.
pub fn find(word: &str, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(cwd.join(word)).filter(|file| is_executable(file));
    }
    find_all(word, path, cwd).next()
}

/// The files of a program name without a slash, in the order of `path`.
pub fn find_all<'a>(word: &'a str, path: Option<&'a OsStr>, cwd: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let dirs = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
    std::env::split_paths(dirs).map(move |dir| cwd.join(dir).join(word)).filter(|file| is_executable(file))
}

/// Whether a path is a file that this user may execute.
pub fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

/// Whether this user may write to a path that exists.
pub fn is_writable(path: &Path) -> bool {
    access(path, AccessFlags::W_OK).is_ok()
}

/// The executable file of this process.
pub fn current_executable() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    if own.is_file() {
        return Ok(own);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "the running program's file was replaced; start it again"))
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
