//! A first-in first-out lock queue for processes. The kernel's own lock queues are unfair: a process that has just released a
//! lock is still running and takes it again before the woken waiter.
//!
//! The queue is one file with locks on its bytes. A process draws a ticket number and locks the byte of that number. Then it
//! waits for the byte of the previous number. Releasing a byte wakes the next waiter only. When a waiter dies, the next one
//! wakes too early, so the main byte is locked as well.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::{files, time_limit};

const TICKET_BYTE: i64 = 0;
const MAIN_BYTE: i64 = 1;
/// The byte of ticket 0.
const FIRST_WAITER_BYTE: i64 = 16;
const MAX_TICKET: i64 = i64::MAX - FIRST_WAITER_BYTE;

/// How long the next waiter spins on the main byte before it sleeps.
const SPIN_TIME: Duration = Duration::from_micros(300);

/// The lock of the process at the head of the queue, held until it is dropped.
#[derive(Debug)]
pub struct QueuedLock {
    // Closing the descriptor frees every byte.
    file: File,
    /// The byte for which the next waiter waits.
    waiter_byte: Option<i64>,
}

impl QueuedLock {
    /// Wakes the next waiter while this process still has the lock; the waiter then spins until the lock is free. Call it when
    /// only short work is left, because the wake-up takes about as long as that work.
    pub fn release_next(&self) {
        if let Some(number) = self.waiter_byte {
            // On failure the next waiter wakes when the lock is released.
            let _ = set_lock(&self.file, libc::F_UNLCK, number, false);
        }
    }
}

/// Waits in the queue for the lock, for at most `limit`. `None` when the limit is over.
pub fn acquire(path: &Path, limit: Duration) -> io::Result<Option<QueuedLock>> {
    let file = files::private_file(path)?;
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    if !lock_with_timeout(&file, TICKET_BYTE, left())? {
        return Ok(None);
    }
    let mut number = [0; 8];
    // An empty or read-only file breaks only the order, not the lock.
    let before = match file.read_at(&mut number, 0) {
        Ok(8) => i64::from_le_bytes(number).clamp(0, MAX_TICKET),
        _ => 0,
    };
    let mine = if before < MAX_TICKET { before + 1 } else { 1 };
    let drawn = try_lock(&file, FIRST_WAITER_BYTE + mine)? && file.write_at(&mine.to_le_bytes(), 0).is_ok();
    set_lock(&file, libc::F_UNLCK, TICKET_BYTE, false)?;
    if drawn && !lock_with_timeout(&file, FIRST_WAITER_BYTE + before, left())? {
        return Ok(None);
    }
    let first = spin_lock(&file, MAIN_BYTE)? || lock_with_timeout(&file, MAIN_BYTE, left())?;
    Ok(first.then_some(QueuedLock { file, waiter_byte: drawn.then_some(FIRST_WAITER_BYTE + mine) }))
}

/// Spins for a short time on a byte that is about to be free.
fn spin_lock(file: &File, byte: i64) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        if try_lock(file, byte)? {
            return Ok(true);
        }
        if start.elapsed() > SPIN_TIME {
            return Ok(false);
        }
        thread::yield_now();
    }
}

fn lock_with_timeout(file: &File, byte: i64, limit: Duration) -> io::Result<bool> {
    if try_lock(file, byte)? {
        return Ok(true);
    }
    Ok(time_limit::with_timeout(limit, || set_lock(file, libc::F_WRLCK, byte, true))?.is_some())
}

fn try_lock(file: &File, byte: i64) -> io::Result<bool> {
    match set_lock(file, libc::F_WRLCK, byte, false) {
        Ok(()) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Locks one byte for this open file; threads do not share the lock.
fn set_lock(file: &File, kind: i32, byte: i64, wait: bool) -> Result<(), Errno> {
    let short = |number: i32| i16::try_from(number).map_err(|_| Errno::EINVAL);
    let lock =
        libc::flock { l_type: short(kind)?, l_whence: short(libc::SEEK_SET)?, l_start: byte, l_len: 1, l_pid: 0 };
    let arg = if wait { FcntlArg::F_OFD_SETLKW(&lock) } else { FcntlArg::F_OFD_SETLK(&lock) };
    fcntl(file, arg).map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::os::poll_until;

    const LONG: Duration = Duration::from_secs(20);

    /// The last ticket number.
    fn drawn(path: &Path) -> i64 {
        std::fs::read(path).ok().and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_le_bytes)
    }

    #[test]
    fn they_go_in_the_order_in_which_they_came() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("queue");
        let first = acquire(&path, LONG).unwrap().unwrap();
        let (sender, order) = mpsc::channel();
        thread::scope(|scope| {
            for place in 2..10 {
                let (sender, path) = (sender.clone(), &path);
                scope.spawn(move || {
                    let turn = acquire(path, LONG).unwrap().unwrap();
                    sender.send(place).unwrap();
                    drop(turn);
                });
                // The next waiter comes only after this one is queued.
                poll_until::poll_until(LONG, Duration::from_millis(5), || (drawn(path) == place).then_some(()))
                    .unwrap();
            }
            drop(first);
        });
        drop(sender);
        assert_eq!(order.iter().collect::<Vec<_>>(), (2..10).collect::<Vec<_>>());
    }

    #[test]
    fn lock_timeout_expires_and_a_malformed_queue_is_passed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("queue");
        std::fs::write(&path, i64::MAX.to_le_bytes()).unwrap();
        let first = acquire(&path, LONG).unwrap().unwrap();
        assert!(acquire(&path, Duration::from_millis(20)).unwrap().is_none());
        drop(first);
        std::fs::write(&path, "?").unwrap();
        assert!(acquire(&path, LONG).unwrap().is_some());
    }
}
