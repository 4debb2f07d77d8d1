//! Slots: a fixed number of processes of this user go on at once, and the others wait in the order in which they came. A slot is a
//! locked file, so it is free as soon as its process has ended, however that was.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};

use super::lock::FileLock;
use super::{files, lock_queue, random};

/// How the names of the files of those that wait begin.
const WAITING: &str = "waiting-";

/// Longer than any process waits.
const EVER: Duration = Duration::from_secs(1 << 30);

/// A slot, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    // Closing the descriptor frees it.
    _file: File,
}

/// The slots in a directory.
#[derive(Debug, Clone)]
pub struct Slots {
    dir: PathBuf,
    count: usize,
}

impl Slots {
    pub const fn new(dir: PathBuf, count: usize) -> Self {
        Self { dir, count }
    }

    /// Takes the next free slot, and writes `note` into it for those that wait. Calls `wait` once, with the notes of those that
    /// have a slot, when none is free.
    pub fn take(&self, note: &str, wait: impl FnOnce(Vec<String>)) -> io::Result<Slot> {
        files::private_dir(&self.dir)?;
        let notes = self.notes();
        let mut waiting = None;
        if notes.len() >= self.count {
            // It waits also where that cannot be seen.
            waiting = self.announce(note).ok();
            wait(notes);
        }
        // The first in the queue alone looks for a slot.
        let Some(_first) = lock_queue::acquire(&self.dir.join("queue"), EVER)? else {
            return Err(io::ErrorKind::TimedOut.into());
        };
        let mut file = match self.try_all()? {
            Some(file) => file,
            None => self.wait_for_any()?,
        };
        // Work goes on without a note that cannot be written.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(note.as_bytes()));
        let _ = waiting.map(|(_, path)| fs::remove_file(path));
        Ok(Slot { _file: file })
    }

    /// Makes a file that tells others of this process, for as long as it is open.
    fn announce(&self, note: &str) -> io::Result<(File, PathBuf)> {
        let path = self.dir.join(format!("{WAITING}{}", random::hex()?));
        let mut file = files::private_file(&path)?;
        file.try_lock()?;
        file.write_all(note.as_bytes())?;
        Ok((file, path))
    }

    /// The notes of those that wait. Removes what killed ones left.
    pub fn waiting(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(WAITING));
        let note = |path: PathBuf| {
            if !FileLock::is_taken(&path) {
                // One that has just come is not seen then, and still has its turn.
                let _ = fs::remove_file(&path);
                return None;
            }
            fs::read_to_string(path).ok()
        };
        names.filter_map(|entry| note(entry.path())).collect()
    }

    /// The notes of those that have a slot.
    pub fn notes(&self) -> Vec<String> {
        let taken = self.paths().filter(|path| FileLock::is_taken(path));
        taken.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        (1..=self.count).map(|number| slot(&self.dir, number))
    }

    fn try_all(&self) -> io::Result<Option<File>> {
        for path in self.paths() {
            let file = files::private_file(&path)?;
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Waits in the kernel for each slot, in a thread of its own. The threads that come too late give theirs back at once.
    fn wait_for_any(&self) -> io::Result<File> {
        let (sender, first) = mpsc::channel();
        // A signal is for the threads that this process has besides: some of them block it while a program runs.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let started = self.paths().try_for_each(|path| {
            let (file, sender) = (files::private_file(&path)?, sender.clone());
            let wait = move || {
                let _ = sender.send(file.lock().map(|()| file));
            };
            thread::Builder::new().name("slot".to_owned()).spawn(wait).map(drop)
        });
        before.thread_set_mask()?;
        started?;
        drop(sender);
        first.recv().map_err(io::Error::other)?
    }
}

fn slot(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("slot-{number}"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;

    #[test]
    fn so_many_have_a_slot_at_once_and_those_that_wait_know_for_whom() {
        let home = tempfile::tempdir().unwrap();
        let slots = Slots::new(home.path().join("slots"), 2);
        let [first, second] = ["a", "b"].map(|note| slots.take(note, |_| panic!("one is free")).unwrap());
        let (at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (tell, told) = mpsc::channel();
        fs::write(slots.dir.join("waiting-killed"), "killed").unwrap();
        thread::scope(|scope| {
            for _ in 0..8 {
                let (slots, at_once, most, tell) = (&slots, &at_once, &most, tell.clone());
                scope.spawn(move || {
                    let taken = slots.take("c", |notes| tell.send(notes).unwrap()).unwrap();
                    most.fetch_max(at_once.fetch_add(1, SeqCst) + 1, SeqCst);
                    thread::yield_now();
                    at_once.fetch_sub(1, SeqCst);
                    drop(taken);
                });
            }
            for _ in 0..8 {
                assert_eq!(told.recv().unwrap(), ["a", "b"]);
            }
            assert_eq!((at_once.load(SeqCst), slots.waiting()), (0, vec!["c".to_owned(); 8]));
            drop((first, second));
        });
        assert!((1..=2).contains(&most.load(SeqCst)));
        assert_eq!((slots.notes().len(), slots.waiting().len()), (0, 0));
        assert!(fs::read_dir(&slots.dir).unwrap().all(|entry| entry.unwrap().file_name() != "waiting-killed"));
    }
}
