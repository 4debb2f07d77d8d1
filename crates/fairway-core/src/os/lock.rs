//! Advisory locks on files (`flock`). A lock belongs to a descriptor and is released when the process ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::{libc, unistd};

use super::{files, time_limit};

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    // Closing the descriptor unlocks it.
    file: File,
}

impl FileLock {
    /// Takes the lock without waiting, and creates the file if it is missing. `None` when the lock is held, even by this process.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = files::private_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the lock, in the kernel's queue, for at most `limit`; `None` after that.
    pub fn acquire_within(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let file = files::private_file(path)?;
        match file.try_lock() {
            Ok(()) => return Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let locked = time_limit::with_timeout(limit, || flock_interruptible(&file))?;
        Ok(locked.map(|()| Self { file }))
    }

    /// Whether any process has the lock. Does not create the file, and two that ask do not see each other.
    pub fn is_taken(path: &Path) -> bool {
        File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Calls `start`. Programs that it starts inherit the lock, which then stays taken until the last of them has ended and this
    /// value is dropped.
    pub fn shared_with_children<T>(&self, start: impl FnOnce() -> T) -> io::Result<T> {
        fcntl(&self.file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let result = start();
        fcntl(&self.file, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        Ok(result)
    }
}

/// Whether the process `pid` has an exclusive lock (`flock`) on this file. `false` when that is unknown.
///
/// It reads what the kernel tells of that process's open files: to list the locks of the whole machine (`/proc/locks`), the kernel
/// stops all that lock and unlock, which takes it milliseconds.
pub fn is_held_by(path: &Path, pid: i32) -> bool {
    let (Ok(file), Ok(opened)) = (fs::symlink_metadata(path), fs::read_dir(format!("/proc/{pid}/fdinfo"))) else {
        return false;
    };
    // `lock: 1: FLOCK  ADVISORY  WRITE 42 08:01:1234 0 EOF`; a file system may count its devices in another way.
    let is_lock = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let inode = fields.get(6).and_then(|place| place.rsplit(':').next()?.parse().ok());
        fields.get(..3).is_some_and(|kind| kind.first() == Some(&"lock:") && kind.last() == Some(&"FLOCK"))
            && fields.get(4) == Some(&"WRITE")
            && fields.get(5).and_then(|holder| holder.parse().ok()) == Some(pid)
            && inode == Some(file.ino())
    };
    opened.flatten().any(|one| fs::read_to_string(one.path()).is_ok_and(|text| text.lines().any(is_lock)))
}

/// Unlike `File::lock`, this returns when a signal interrupts it.
#[expect(unsafe_code, reason = "flock that can be interrupted has no safe form in the crates used here")]
fn flock_interruptible(file: &File) -> Result<(), Errno> {
    // SAFETY: a call with plain numbers; the descriptor is open as long as the file is borrowed.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }).map(drop)
}

/// A shared lock, until it is dropped. It marks an interest that many processes can have at once. Others can test for it
/// without taking it.
#[derive(Debug)]
pub struct SharedLock {
    // Closing the descriptor unlocks it.
    _file: File,
}

impl SharedLock {
    /// Takes the shared lock without waiting. Fails in the short moment in which [`Self::wait_until_free`] of another process has
    /// the file locked exclusively.
    pub fn acquire(path: &Path) -> io::Result<Self> {
        let file = files::private_file(path)?;
        fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_RDLCK)?))?;
        Ok(Self { _file: file })
    }

    /// Like [`Self::acquire`], but waits in that moment instead of failing.
    pub fn acquire_waiting(path: &Path) -> io::Result<Self> {
        let file = files::private_file(path)?;
        lock_waiting(&file, libc::F_RDLCK)?;
        Ok(Self { _file: file })
    }

    /// Blocks until no process has the shared lock. The caller does not get a lock.
    pub fn wait_until_free(path: &Path) -> io::Result<()> {
        let file = files::private_file(path)?;
        lock_waiting(&file, libc::F_WRLCK)?;
        Ok(())
    }

    /// Whether any process has the shared lock. Does not create the file.
    pub fn is_locked(path: &Path) -> io::Result<bool> {
        if !path.exists() {
            return Ok(false);
        }
        let file = files::private_file(path)?;
        let mut found = whole_file(libc::F_WRLCK)?;
        fcntl(&file, FcntlArg::F_OFD_GETLK(&mut found))?;
        Ok(i32::from(found.l_type) != libc::F_UNLCK)
    }
}

/// An exclusive lock that belongs to the open file: a child process that inherits the file has the lock too, and it is free
/// when the last of them closes the file. Others can test for it without taking it.
#[derive(Debug)]
pub struct InheritableLock {
    file: File,
}

impl InheritableLock {
    /// Takes the lock; `None` when another process has it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        Self::try_lock(files::private_file(path)?)
    }

    fn try_lock(file: File) -> io::Result<Option<Self>> {
        match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_WRLCK)?)) {
            Ok(_) => Ok(Some(Self { file })),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether any process has the lock. Does not create the file.
    pub fn is_locked(path: &Path) -> io::Result<bool> {
        SharedLock::is_locked(path)
    }

    /// Takes over the lock that this process inherited as its stdin, and makes stdin `/dev/null`. `None` when stdin is another
    /// file than the one at `path`, or another process has the lock.
    pub fn from_stdin(path: &Path) -> io::Result<Option<Self>> {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let nothing = File::open("/dev/null")?;
        let (found, wanted) = (file.metadata()?, fs::symlink_metadata(path)?);
        if (found.dev(), found.ino()) != (wanted.dev(), wanted.ino()) {
            return Ok(None);
        }
        // A child that inherits stdin would have the lock.
        unistd::dup2_stdin(&nothing)?;
        // Locking again is a no-op when this open file has the lock already.
        Self::try_lock(file)
    }

    /// The open file, to pass to a child process. The lock is kept as long as any process has it open.
    pub fn into_file(self) -> File {
        self.file
    }
}

/// Locks the whole file, in the kernel's queue.
fn lock_waiting(file: &File, kind: i32) -> Result<(), Errno> {
    loop {
        match fcntl(file, FcntlArg::F_OFD_SETLKW(&whole_file(kind)?)) {
            Err(Errno::EINTR) => {}
            done => return done.map(drop),
        }
    }
}

/// A lock of the whole file, as `fcntl` describes it.
fn whole_file(kind: i32) -> Result<libc::flock, Errno> {
    let short = |number: i32| i16::try_from(number).map_err(|_| Errno::EINVAL);
    Ok(libc::flock { l_type: short(kind)?, l_whence: short(libc::SEEK_SET)?, l_start: 0, l_len: 0, l_pid: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_lock_is_waited_for_only_so_long_and_is_free_again_after() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        assert!(FileLock::is_taken(&path) && !FileLock::is_taken(&home.path().join("none")));
        assert!(FileLock::acquire_within(&path, Duration::from_millis(20)).unwrap().is_none());
        drop(held);
        assert!(!FileLock::is_taken(&path));
        assert!(FileLock::acquire_within(&path, Duration::from_secs(5)).unwrap().is_some());
    }

    #[test]
    fn holder_of_a_lock_is_known_by_its_process() {
        let home = tempfile::tempdir().unwrap();
        let (path, other) = (home.path().join("lock"), home.path().join("other"));
        let own = i32::try_from(std::process::id()).unwrap();
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        let _interest = SharedLock::acquire(&other).unwrap();
        assert!(is_held_by(&path, own));
        assert!(!is_held_by(&path, 1));
        assert!(!is_held_by(&other, own), "a shared lock of another kind");
        drop(held);
        assert!(!is_held_by(&path, own));
        assert!(!is_held_by(&home.path().join("none"), own));
    }

    #[test]
    fn several_may_be_interested_and_asking_is_no_interest() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("interest");
        assert!(!SharedLock::is_locked(&path).unwrap());
        let (one, two) = (SharedLock::acquire(&path).unwrap(), SharedLock::acquire(&path).unwrap());
        assert!(SharedLock::is_locked(&path).unwrap());
        drop(one);
        assert!(SharedLock::is_locked(&path).unwrap());
        drop(two);
        assert!(!SharedLock::is_locked(&path).unwrap());
    }
}
