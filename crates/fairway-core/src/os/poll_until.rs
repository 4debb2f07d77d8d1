//! Polling for a condition that sends no event; the only loop that sleeps.

use std::time::{Duration, Instant};

/// Calls `ask` until it returns `Some`, at least once. Returns `None` when the limit is over.
///
/// The pause between two calls is a millisecond at first and doubles each time, up to `pause`.
pub fn poll_until<T>(limit: Duration, pause: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let mut next = Duration::from_millis(1);
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        let left = limit.checked_sub(start.elapsed())?;
        sleep(next.min(left));
        next = (next * 2).min(pause);
    }
}

/// Sleeps. For delays after a failure and between reactions to frequent changes; to wait for a condition, use [`poll_until`].
#[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
pub fn sleep(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_until_there_is_an_answer_or_no_time() {
        let mut asked = 0;
        let answer = poll_until(Duration::from_secs(5), Duration::from_millis(2), || {
            asked += 1;
            (asked == 3).then_some("there")
        });
        assert_eq!(answer, Some("there"));
        assert_eq!(poll_until(Duration::ZERO, Duration::ZERO, || None::<()>), None);
    }
}
