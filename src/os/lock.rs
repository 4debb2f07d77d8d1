//! Advisory locks on files (flock): held by a descriptor, gone with the process however it ends.

use std::{
    fs::{File, TryLockError},
    io,
    os::fd::AsRawFd,
    path::Path,
    time::Duration,
};

use nix::{errno::Errno, libc};

use super::{alarm, files};

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    // Closing the descriptor unlocks it.
    _file: File,
}

impl FileLock {
    /// Takes the lock if nobody has it; `None` when somebody does.
    ///
    /// # Errors
    /// When the file cannot be opened or locked at all.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = files::private_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the lock, in the kernel's queue, for at most `limit`; `None` when that was not enough.
    ///
    /// # Errors
    /// When the file cannot be opened or locked at all.
    pub fn acquire_within(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let file = files::private_file(path)?;
        match file.try_lock() {
            Ok(()) => return Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let locked = alarm::within(limit, || wait(&file))?;
        Ok(locked.map(|()| Self { _file: file }))
    }
}

/// `File::lock` starts again when it is interrupted; this does not.
#[expect(unsafe_code, reason = "flock that can be interrupted has no safe form in the crates used here")]
fn wait(file: &File) -> Result<(), Errno> {
    // SAFETY: a call with plain numbers; the descriptor is open as long as the file is borrowed.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_waited_for_only_so_long_and_is_free_again_after() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        assert!(FileLock::acquire_within(&path, Duration::from_millis(20)).unwrap().is_none());
        drop(held);
        assert!(FileLock::acquire_within(&path, Duration::from_secs(5)).unwrap().is_some());
    }
}
