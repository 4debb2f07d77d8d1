//! Which finished jobs are forgotten: those that are too old, too many, or whose output takes too much room.

use std::time::Duration;

use crate::env::Timestamp;

/// How much of what has finished is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long; `None` for ever.
    pub age: Option<Duration>,
    pub count: usize,
    /// How many bytes on the disk; `None` for any number.
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    pub at: Timestamp,
    /// How many bytes it takes on the disk.
    pub bytes: u64,
}

/// How many of the finished jobs to delete, so that the rest is within the limits. `found` is in the order in which the jobs
/// ended; the first ones are deleted.
pub fn surplus(found: &[Finished], limits: &Limits, now: Timestamp) -> usize {
    let too_old = |run: &Finished| limits.age.is_some_and(|age| now.since(run.at) > age);
    let old = found.iter().take_while(|run| too_old(run)).count();
    let many = found.len().saturating_sub(limits.count);
    let mut left: u64 = found.iter().map(|run| run.bytes).fold(0, u64::saturating_add);
    let mut large = 0;
    for run in found {
        if limits.bytes.is_none_or(|most| left <= most) {
            break;
        }
        left = left.saturating_sub(run.bytes);
        large += 1;
    }
    old.max(many).max(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_removes_the_oldest_by_the_strictest_limit() {
        let run = |second: i64, bytes| Finished { at: Timestamp::from_millis(second * 1_000), bytes };
        let found = [run(1, 10), run(2, 20), run(3, 0), run(9, 30)];
        let (now, none) = (Timestamp::from_millis(10_000), Limits { age: None, count: 100, bytes: None });
        let left = |limits: Limits| surplus(&found, &limits, now);
        assert_eq!(left(none), 0);
        assert_eq!(left(Limits { count: 3, ..none }), 1);
        assert_eq!(left(Limits { count: 0, ..none }), 4);
        // Exactly as old as allowed is kept.
        assert_eq!(left(Limits { age: Some(Duration::from_secs(8)), ..none }), 1);
        assert_eq!(left(Limits { age: Some(Duration::ZERO), ..none }), 4);
        assert_eq!(left(Limits { bytes: Some(60), ..none }), 0);
        assert_eq!(left(Limits { bytes: Some(59), ..none }), 1);
        assert_eq!(left(Limits { bytes: Some(31), ..none }), 2);
        assert_eq!(left(Limits { bytes: Some(0), ..none }), 4);
        assert_eq!(left(Limits { bytes: Some(59), count: 2, age: Some(Duration::from_secs(8)) }), 2);
        assert_eq!(surplus(&[], &Limits { count: 0, bytes: Some(0), ..none }, now), 0);
    }
}
