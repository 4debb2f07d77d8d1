//! Writes a program's output to its transcript without ever blocking the program. A thread writes; when the disk stalls, output
//! that does not fit into memory is dropped, and a line in the transcript says how much.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::transcript::Transcript;
use crate::os::session_leader;

/// How much output may wait for the disk, in bytes.
const MAX_BUFFERED_BYTES: usize = 8 << 20;
/// How long the disk may take for a piece before it counts as stalled.
const STALL_TIMEOUT: Duration = Duration::from_millis(200);

/// Accepts output and never blocks for long.
#[derive(Debug)]
pub struct TranscriptWriter {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is something to write, or nothing more will come.
    filled: Condvar,
    /// Notified when output was taken, or everything is written.
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    dropped_bytes: u64,
    is_stalled: bool,
    is_writing: bool,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TranscriptWriter {
    /// Opens a transcript and starts the thread that writes to it. Whenever the file reaches `limit` bytes, it is renamed with
    /// the suffix `.1`, and a new one is begun.
    pub fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let mut transcript = Transcript::open(path, limit)?;
        Self::with_writer(move |bytes| transcript.write(bytes))
    }

    fn with_writer(mut write: impl FnMut(&[u8]) + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        // Signals must go to the thread that waits for the program.
        session_leader::with_signals_blocked(|| {
            thread::Builder::new().spawn(move || {
                while let Some(bytes) = theirs.next_batch() {
                    write(&bytes);
                }
            })
        })?;
        Ok(Self { shared })
    }

    /// Queues output for the writing thread. When the queue is full, waits for a moment; when the disk has not taken the queue by
    /// then, the output is dropped.
    pub fn write(&self, bytes: &[u8]) {
        let mut state = self.shared.lock();
        while !state.is_stalled && !state.pending.is_empty() && state.pending.len() + bytes.len() > MAX_BUFFERED_BYTES {
            let (now, waited) =
                self.shared.emptied.wait_timeout(state, STALL_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            state = now;
            state.is_stalled = waited.timed_out();
        }
        if state.is_stalled {
            state.dropped_bytes += u64::try_from(bytes.len()).unwrap_or_default();
        } else {
            state.pending.extend_from_slice(bytes);
            self.shared.filled.notify_one();
        }
    }

    /// Waits until all queued output is written, for at most `limit`.
    pub fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        while state.is_writing || !state.pending.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.shared.emptied.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for TranscriptWriter {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.filled.notify_one();
    }
}

impl Shared {
    /// The next bytes to write; `None` when no more will come.
    fn next_batch(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        state.is_writing = false;
        self.emptied.notify_all();
        while state.pending.is_empty() && state.dropped_bytes == 0 {
            if state.is_closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut bytes = std::mem::take(&mut state.pending);
        let lost = std::mem::take(&mut state.dropped_bytes);
        if lost > 0 {
            bytes.extend_from_slice(format!("\n[{lost} bytes left out: the disk stood still]\n").as_bytes());
        }
        state.is_stalled = false;
        state.is_writing = true;
        drop(state);
        self.emptied.notify_all();
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn hanging_disk_costs_text_and_no_time() {
        let (go, wait) = mpsc::channel::<()>();
        let (sender, written) = mpsc::channel();
        let recorder = TranscriptWriter::with_writer(move |bytes| {
            let _ = wait.recv();
            let _ = sender.send(bytes.to_vec());
        })
        .unwrap();
        recorder.write(b"first");
        let start = Instant::now();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..64 {
            recorder.write(&piece);
        }
        assert!(start.elapsed() < Duration::from_secs(10));
        drop(go);
        recorder.flush(Duration::from_secs(20));
        let all: Vec<u8> = written.try_iter().flatten().collect();
        let text = String::from_utf8(all).unwrap();
        assert!(text.starts_with("firstx") && text.ends_with(" bytes left out: the disk stood still]\n"));
        let kept = text.bytes().filter(|byte| *byte == b'x').count();
        assert!((MAX_BUFFERED_BYTES / 2..=2 * MAX_BUFFERED_BYTES).contains(&kept), "{kept}");
        recorder.write(b"last");
        recorder.flush(Duration::from_secs(20));
        assert_eq!(written.try_iter().flatten().collect::<Vec<u8>>(), b"last");
    }
}
