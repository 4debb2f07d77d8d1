//! Timeouts for `poll(2)`.

use std::time::Duration;

use nix::poll::PollTimeout;

/// A duration as a timeout of `poll`; `None` waits without limit.
///
/// It is rounded up to whole milliseconds, so that a rest below a millisecond does not turn a waiting loop into a busy one.
/// A duration that is too long for `poll` becomes its longest timeout.
pub fn poll_timeout(limit: Option<Duration>) -> PollTimeout {
    limit.map_or(PollTimeout::NONE, |limit| {
        PollTimeout::try_from(limit.saturating_add(Duration::from_micros(999))).unwrap_or(PollTimeout::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_and_capped() {
        assert_eq!(poll_timeout(None), PollTimeout::NONE);
        assert_eq!(poll_timeout(Some(Duration::ZERO)), PollTimeout::ZERO);
        for (micros, millis) in [(1, 1_u16), (1_000, 1), (1_001, 2)] {
            assert_eq!(poll_timeout(Some(Duration::from_micros(micros))), PollTimeout::from(millis));
        }
        assert_eq!(poll_timeout(Some(Duration::MAX)), PollTimeout::MAX);
    }
}
