//! A thread with a large stack and a time limit, for parsing untrusted text.

use std::{sync::mpsc, thread, time::Duration};

/// Runs `work` on a stack of this many bytes. `None` when it panicked, took longer than `limit`, or no thread could be
/// created; work that takes too long continues in its thread.
pub fn run<T: Send + 'static>(stack: usize, limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, wait) = mpsc::sync_channel(1);
    let begun = thread::Builder::new().name("deep".to_owned()).stack_size(stack).spawn(move || {
        let _ = done.send(work());
    });
    begun.ok()?;
    wait.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_or_long_wait_gives_no_answer() {
        let second = Duration::from_secs(5);
        assert_eq!(run(1 << 20, second, || 7), Some(7));
        assert_eq!(run(1 << 20, second, || -> u8 { std::panic::resume_unwind(Box::new("no")) }), None);
        let (hold, held) = mpsc::channel::<()>();
        assert_eq!(run(1 << 20, Duration::from_millis(1), move || held.recv().is_ok()), None);
        drop(hold);
    }
}
