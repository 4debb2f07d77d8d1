//! Being there for something under a name in a folder, one at a time: a newcomer takes the place, and the one before learns
//! of it. Others can ask whether anybody is there without disturbing them. Gone with the process, however that ends.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{fs::MetadataExt, net::UnixDatagram},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use super::{files, lock::FileLock, socket::short_path};

/// How long one who takes or leaves a place is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The file by which those who come and go take turns.
const LOCK_FILE: &str = "turns";

/// One who is there.
#[derive(Debug)]
pub struct NamedListener {
    socket: UnixDatagram,
    folder: PathBuf,
    name: String,
    /// The socket's file, by device and number.
    file: (u64, u64),
}

impl NamedListener {
    /// Takes the place of this name, from whoever has it.
    ///
    /// # Errors
    /// When the folder cannot be made, or the socket not bound.
    pub fn bind_replacing(folder: &Path, name: &str) -> io::Result<Self> {
        files::private_dir(folder)?;
        let _turn = lock_dir(folder)?;
        let open = File::open(folder)?;
        let before = connect(&open, name);
        // Nobody else makes this name: it is our turn. What one who was killed left under it goes.
        let draft = format!("{name}.new");
        let _ = fs::remove_file(folder.join(&draft));
        let socket = UnixDatagram::bind(short_path(&open, &draft))?;
        socket.set_nonblocking(true)?;
        let file = file_identity(&folder.join(&draft))?;
        fs::rename(folder.join(&draft), folder.join(name))?;
        if let Ok(before) = before {
            // A full socket is readable already.
            let _ = before.send(&[1]);
        }
        Ok(Self { socket, folder: folder.to_owned(), name: name.to_owned(), file })
    }

    /// Whether another has taken the place. It is so when the descriptor is readable, and never again otherwise.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        !self.owns_name()
    }

    fn owns_name(&self) -> bool {
        file_identity(&self.folder.join(&self.name)).is_ok_and(|file| file == self.file)
    }
}

impl AsFd for NamedListener {
    /// Becomes readable when another takes the place.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for NamedListener {
    fn drop(&mut self) {
        // Without a turn the file stays: it is dead, and the next who asks or comes sees that.
        if let Ok(_turn) = lock_dir(&self.folder)
            && self.owns_name()
        {
            let _ = fs::remove_file(self.folder.join(&self.name));
        }
    }
}

/// Whether anybody is there. The file of one who died is removed.
#[must_use]
pub fn is_listening(folder: &Path, name: &str) -> bool {
    let Ok(open) = File::open(folder) else { return false };
    let is_dead = |asked: &io::Result<UnixDatagram>| {
        asked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    let asked = connect(&open, name);
    if is_dead(&asked)
        && let Ok(_turn) = lock_dir(folder)
        && is_dead(&connect(&open, name))
    {
        let _ = fs::remove_file(folder.join(name));
    }
    asked.is_ok()
}

/// A way to whoever is there; it disturbs nobody.
fn connect(folder: &File, name: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(short_path(folder, name))?;
    Ok(socket)
}

fn lock_dir(folder: &Path) -> io::Result<FileLock> {
    FileLock::acquire_within(&folder.join(LOCK_FILE), LOCK_TIMEOUT)?.ok_or_else(|| io::ErrorKind::TimedOut.into())
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
    fn a_newcomer_takes_the_place_and_the_one_before_learns_of_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("x".repeat(200));
        assert!(!is_listening(&folder, "a"));
        let first = NamedListener::bind_replacing(&folder, "a").unwrap();
        assert!(is_listening(&folder, "a") && !is_listening(&folder, "b"));
        assert!(!is_readable(&first) && !first.is_superseded());
        let second = NamedListener::bind_replacing(&folder, "a").unwrap();
        assert!(is_readable(&first) && first.is_superseded());
        assert!(!is_readable(&second) && !second.is_superseded());
        drop(first);
        assert!(is_listening(&folder, "a") && !second.is_superseded());
        drop(second);
        assert!(!is_listening(&folder, "a") && !folder.join("a").exists());
    }

    #[test]
    fn one_who_died_is_not_there_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        for _ in 0..2 {
            drop(UnixDatagram::bind(folder.join("a")).unwrap());
            assert!(!is_listening(folder, "a"));
            assert!(!folder.join("a").exists());
        }
        drop(UnixDatagram::bind(folder.join("a")).unwrap());
        let _now = NamedListener::bind_replacing(folder, "a").unwrap();
        assert!(is_listening(folder, "a"));
    }
}
