//! A directory that is kept open: it is found again after it was moved.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// An open directory.
#[derive(Debug)]
pub struct OpenedDir {
    dir: File,
}

impl OpenedDir {
    /// Opens a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = nix::libc::O_PATH | nix::libc::O_DIRECTORY;
        let opened = Self { dir: fs::OpenOptions::new().read(true).custom_flags(flags).open(path)? };
        fs::metadata(opened.path())?;
        Ok(opened)
    }

    /// A path that leads to the directory wherever it is, while this value lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.dir.as_raw_fd()).into()
    }

    /// Its path in the file system now; `None` when it was removed, or is not to be seen from here.
    pub fn current_path(&self) -> Option<PathBuf> {
        let path = fs::read_link(self.path()).ok()?;
        let (here, opened) = (fs::metadata(&path).ok()?, self.dir.metadata().ok()?);
        ((here.dev(), here.ino()) == (opened.dev(), opened.ino())).then_some(path)
    }

    /// Whether it was removed.
    pub fn is_removed(&self) -> bool {
        self.dir.metadata().is_ok_and(|dir| dir.nlink() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_found_after_a_move_and_not_after_its_removal() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("a/in")).unwrap();
        let opened = OpenedDir::open(&home.join("a/in")).unwrap();
        assert_eq!(opened.current_path(), Some(home.join("a/in")));
        fs::rename(home.join("a"), home.join("b")).unwrap();
        assert_eq!(opened.current_path(), Some(home.join("b/in")));
        fs::write(opened.path().join("file"), "x").unwrap();
        assert_eq!(fs::read_to_string(home.join("b/in/file")).unwrap(), "x");
        assert!(!opened.is_removed());
        fs::remove_dir_all(home.join("b")).unwrap();
        assert!(opened.is_removed());
        assert_eq!(opened.current_path(), None);
        // Another directory in its place is not it.
        fs::create_dir_all(home.join("b/in")).unwrap();
        assert_eq!(opened.current_path(), None);
    }
}
