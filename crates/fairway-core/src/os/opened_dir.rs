//! Directories that are kept open. One is found again after it was moved. Below another files are written and nowhere else: the
//! kernel refuses a path with `..`, or a link that leads out of it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat2, renameat};
use nix::libc;
use nix::sys::stat::{Mode, fchmod, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, symlinkat, unlinkat};

/// A directory that is found again after it was moved.
#[derive(Debug)]
pub struct OpenedDir {
    dir: File,
}

impl OpenedDir {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        let opened = Self { dir: fs::OpenOptions::new().read(true).custom_flags(flags).open(path)? };
        fs::metadata(opened.path())?;
        Ok(opened)
    }

    /// A path through the open descriptor, which leads to the directory wherever it was moved, as long as this value lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.dir.as_raw_fd()).into()
    }

    /// The real path of the directory now; `None` when it was removed or is not visible to this process.
    pub fn current_path(&self) -> Option<PathBuf> {
        let path = fs::read_link(self.path()).ok()?;
        let (here, opened) = (fs::metadata(&path).ok()?, self.dir.metadata().ok()?);
        ((here.dev(), here.ino()) == (opened.dev(), opened.ino())).then_some(path)
    }

    pub fn is_removed(&self) -> bool {
        self.dir.metadata().is_ok_and(|dir| dir.nlink() == 0)
    }
}

/// A directory below which files are written.
#[derive(Debug)]
pub struct BeneathRoot {
    root: OwnedFd,
}

/// The directory of a [`BeneathRoot`], or one below it.
#[derive(Debug)]
pub struct BeneathDir {
    dir: OwnedFd,
}

impl BeneathRoot {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self { root: nix::fcntl::open(path, flags, Mode::empty())? })
    }

    /// Whether there is a directory at this path, relative to the root. A path that leads out of the root has none.
    pub fn has_dir(&self, path: &Path) -> bool {
        self.open_beneath(if path.as_os_str().is_empty() { Path::new(".") } else { path }).is_ok()
    }

    /// Opens a directory below the root, and creates it and its parents when they are missing. A path that leads out of the
    /// root is refused.
    pub fn create_dir(&self, path: &Path) -> io::Result<BeneathDir> {
        // Before anything is made.
        if !path.components().all(|part| matches!(part, Component::CurDir | Component::Normal(_))) {
            return Err(escapes_root(path));
        }
        let mut seen = PathBuf::new();
        let mut directory = self.open_beneath(Path::new("."))?;
        for part in path.components() {
            let Component::Normal(name) = part else { continue };
            seen.push(name);
            directory = match self.open_beneath(&seen) {
                Err(Errno::ENOENT) => {
                    match mkdirat(&directory, name, Mode::from_bits_truncate(0o777)) {
                        Ok(()) | Err(Errno::EEXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    self.open_beneath(&seen)
                }
                found => found,
            }
            .map_err(|error| if error == Errno::EXDEV { escapes_root(path) } else { error.into() })?;
        }
        Ok(BeneathDir { dir: directory })
    }

    /// Opens the regular file at this path, relative to the root, for reading. `None` when there is none, when it is something
    /// else, and when a part of the path is a link.
    pub fn open_file(&self, path: &Path) -> io::Result<Option<File>> {
        // A FIFO without a writer would block.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        match openat2(&self.root, path, how) {
            Ok(file) => Ok(Some(File::from(file)).filter(|file| file.metadata().is_ok_and(|found| found.is_file()))),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EXDEV | Errno::ENXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn open_beneath(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let how =
            OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        openat2(&self.root, path, how)
    }
}

fn escapes_root(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} leads out of the directory", path.display()))
}

impl BeneathDir {
    /// Copies a file into this directory as `name`, atomically. An existing file or link of that name is replaced; a link is
    /// not followed.
    pub fn copy_file(&self, name: &OsStr, from: &mut File, mode: u32) -> io::Result<()> {
        let draft = temp_name();
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut write = || -> io::Result<()> {
            let mut to = File::from(nix::fcntl::openat(&self.dir, &*draft, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
            io::copy(from, &mut to)?;
            fchmod(&to, Mode::from_bits_truncate(mode & 0o777))?;
            Ok(renameat(&self.dir, &*draft, &self.dir, name)?)
        };
        write().inspect_err(|_| self.remove(&draft))
    }

    /// Copies a file into this directory as `name`, also when this process is killed whole or not at all. Returns false when
    /// something has this name.
    pub fn copy_new(&self, name: &OsStr, from: &mut File, mode: u32) -> io::Result<bool> {
        let flags = OFlag::O_WRONLY | OFlag::O_TMPFILE | OFlag::O_CLOEXEC;
        let mut to = match nix::fcntl::openat(&self.dir, ".", flags, Mode::S_IRUSR | Mode::S_IWUSR) {
            Ok(to) => File::from(to),
            // A file system without files that have no name.
            Err(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::ENOENT) if self.identity(name).is_none() => {
                return self.copy_file(name, from, mode).map(|()| true);
            }
            Err(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::ENOENT) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        io::copy(from, &mut to)?;
        fchmod(&to, Mode::from_bits_truncate(mode & 0o777))?;
        let opened = format!("/proc/self/fd/{}", to.as_raw_fd());
        match linkat(AT_FDCWD, &*opened, &self.dir, name, AtFlags::AT_SYMLINK_FOLLOW) {
            Ok(()) => Ok(true),
            Err(Errno::EEXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a symbolic link in this directory, atomically. A file of that name is replaced.
    pub fn symlink(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        let draft = temp_name();
        let make = || -> io::Result<()> {
            symlinkat(target, &self.dir, &*draft)?;
            Ok(renameat(&self.dir, &*draft, &self.dir, name)?)
        };
        make().inspect_err(|_| self.remove(&draft))
    }

    /// Device and inode of the entry of this name; `None` when there is none. Links are not followed.
    pub fn identity(&self, name: &OsStr) -> Option<(u64, u64)> {
        let found = fstatat(&self.dir, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        Some((found.st_dev, found.st_ino))
    }

    fn remove(&self, name: &str) {
        let _ = unlinkat(&self.dir, name, UnlinkatFlags::NoRemoveDir);
    }
}

/// A temporary name that is unique to this process.
fn temp_name() -> String {
    format!(".fairway-{}.tmp", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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

    #[test]
    fn write_never_lands_outside_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "theirs").unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink(&outside, root.join("absolute")).unwrap();
        symlink("real", root.join("in")).unwrap();
        symlink("../outside/file", root.join("real/link")).unwrap();
        let below = BeneathRoot::open(&root).unwrap();
        for path in ["..", "../outside", "a/../../outside", "/tmp", "out", "out/deep", "absolute", "absolute/x"] {
            assert!(below.create_dir(Path::new(path)).is_err(), "{path}");
        }
        let from = home.path().join("from");
        fs::write(&from, "new").unwrap();
        for (directory, name) in [("", "a"), ("x/y/./z", "b"), ("in/deep", "c"), ("real", "link")] {
            let mut file = File::open(&from).unwrap();
            below.create_dir(Path::new(directory)).unwrap().copy_file(OsStr::new(name), &mut file, 0o755).unwrap();
            assert_eq!(fs::read_to_string(root.join(directory).join(name)).unwrap(), "new");
        }
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "theirs");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(root.join("real/deep/c").is_file() && !below.has_dir(Path::new("out")));
    }
}
