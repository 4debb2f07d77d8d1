//! Advisory locks on files (flock): held by a descriptor, gone with the process however it ends.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::mpsc,
    time::Duration,
};

use super::files;

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
        // flock has no deadline. A thread waits in the queue; when the limit is over its lock falls into a channel
        // that nobody reads, and is dropped with it.
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new().name("lock".into()).spawn(move || {
            let locked = file.lock().map(|()| Self { _file: file });
            let _ = sender.send(locked);
        })?;
        match receiver.recv_timeout(limit) {
            Ok(locked) => locked.map(Some),
            Err(_) => Ok(None),
        }
    }
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
