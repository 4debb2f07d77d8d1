//! A named listener in a directory. A new one supersedes the old one, which learns of it. Other processes can test for a
//! listener without disturbing it. It is gone with its process.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use super::lock::FileLock;
use super::socket::short_path;

/// How long to wait for another process that changes the directory.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The lock file of all changes to the directory.
const LOCK_FILE: &str = "turns";

/// The active listener of a name.
#[derive(Debug)]
pub struct NamedListener {
    socket: UnixDatagram,
    dir: PathBuf,
    name: String,
    /// The socket file's device and inode.
    file: (u64, u64),
}

impl NamedListener {
    /// Becomes the listener of this name and wakes the one that it replaces.
    pub fn bind_replacing(dir: &Path, name: &str) -> io::Result<Self> {
        files::private_dir(dir)?;
        let _turn = lock_dir(dir)?;
        let open = File::open(dir)?;
        let before = connect(&open, name);
        // Only the owner of the lock uses this name. A file under it was left by a killed process.
        let draft = format!("{name}.new");
        let _ = fs::remove_file(dir.join(&draft));
        let socket = UnixDatagram::bind(short_path(&open, &draft))?;
        socket.set_nonblocking(true)?;
        let file = file_identity(&dir.join(&draft))?;
        fs::rename(dir.join(&draft), dir.join(name))?;
        if let Ok(before) = before {
            // A full socket is readable already.
            let _ = before.send(&[1]);
        }
        Ok(Self { socket, dir: dir.to_owned(), name: name.to_owned(), file })
    }

    /// Whether another listener has taken this name, or the socket file was removed. The descriptor becomes readable when a
    /// listener takes the name, and stays so.
    pub fn is_superseded(&self) -> bool {
        !self.owns_name()
    }

    fn owns_name(&self) -> bool {
        file_identity(&self.dir.join(&self.name)).is_ok_and(|file| file == self.file)
    }
}

impl AsFd for NamedListener {
    /// Becomes readable when another listener supersedes this one.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for NamedListener {
    fn drop(&mut self) {
        // Without the lock the file stays; it is dead, and the next caller removes it.
        if let Ok(_turn) = lock_dir(&self.dir)
            && self.owns_name()
        {
            let _ = fs::remove_file(self.dir.join(&self.name));
        }
    }
}

/// Whether a living process listens under this name. The socket file of a dead listener is removed.
pub fn is_listening(dir: &Path, name: &str) -> bool {
    let Ok(open) = File::open(dir) else { return false };
    let is_dead = |asked: &io::Result<UnixDatagram>| {
        asked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    let asked = connect(&open, name);
    if is_dead(&asked)
        && let Ok(_turn) = lock_dir(dir)
        && is_dead(&connect(&open, name))
    {
        let _ = fs::remove_file(dir.join(name));
    }
    asked.is_ok()
}

/// A socket connected to the listener; nothing is sent.
fn connect(dir: &File, name: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(short_path(dir, name))?;
    Ok(socket)
}

fn lock_dir(dir: &Path) -> io::Result<FileLock> {
    FileLock::acquire_within(&dir.join(LOCK_FILE), LOCK_TIMEOUT)?.ok_or_else(|| io::ErrorKind::TimedOut.into())
}

fn file_identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn is_readable(presence: &NamedListener) -> bool {
        poll(&mut [PollFd::new(presence.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn new_listener_takes_the_name_and_the_former_is_told() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x".repeat(200));
        assert!(!is_listening(&dir, "a"));
        let first = NamedListener::bind_replacing(&dir, "a").unwrap();
        assert!(is_listening(&dir, "a") && !is_listening(&dir, "b"));
        assert!(!is_readable(&first) && !first.is_superseded());
        let second = NamedListener::bind_replacing(&dir, "a").unwrap();
        assert!(is_readable(&first) && first.is_superseded());
        assert!(!is_readable(&second) && !second.is_superseded());
        drop(first);
        assert!(is_listening(&dir, "a") && !second.is_superseded());
        drop(second);
        assert!(!is_listening(&dir, "a") && !dir.join("a").exists());
    }

    #[test]
    fn dead_listener_is_absent_and_leaves_no_file() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path();
        for _ in 0..2 {
            drop(UnixDatagram::bind(dir.join("a")).unwrap());
            assert!(!is_listening(dir, "a"));
            assert!(!dir.join("a").exists());
        }
        drop(UnixDatagram::bind(dir.join("a")).unwrap());
        let _now = NamedListener::bind_replacing(dir, "a").unwrap();
        assert!(is_listening(dir, "a"));
    }
}
