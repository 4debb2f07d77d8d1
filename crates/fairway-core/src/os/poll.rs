//! Waiting for descriptors with `poll(2)`.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};

/// Waits until one of these descriptors is ready, or the limit is over (`None`: no limit). A signal ends the wait early, which is
/// no error.
pub fn poll(watched: &mut [PollFd<'_>], limit: Option<Duration>) -> io::Result<()> {
    match nix::poll::poll(watched, poll_timeout(limit)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until one of these descriptors is readable or closed, or the limit is over (`None`: no limit). Returns for each
/// descriptor whether it is readable or closed. A signal ends the wait early; then all are `false`.
pub fn wait_readable(these: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> = these.iter().map(|one| PollFd::new(*one, PollFlags::POLLIN)).collect();
    match nix::poll::poll(&mut polled, poll_timeout(limit)) {
        Ok(_) => polled.iter().map(|one| one.any().unwrap_or(true)).collect(),
        Err(_) => vec![false; these.len()],
    }
}

/// A duration as a timeout of `poll(2)`; `None` waits without limit.
///
/// It is rounded up to whole milliseconds, so that a rest below a millisecond does not turn a waiting loop into a busy one.
/// A duration that is too long for `poll(2)` becomes its longest timeout.
pub fn poll_timeout(limit: Option<Duration>) -> PollTimeout {
    limit.map_or(PollTimeout::NONE, |limit| {
        PollTimeout::try_from(limit.saturating_add(Duration::from_micros(999))).unwrap_or(PollTimeout::MAX)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

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

    #[test]
    fn names_the_readable_and_the_closed_one() {
        let (first, _open) = io::pipe().unwrap();
        let (second, mut writer) = io::pipe().unwrap();
        let (third, closed) = io::pipe().unwrap();
        drop(closed);
        writer.write_all(b"x").unwrap();
        let fds = [first.as_fd(), second.as_fd(), third.as_fd()];
        assert_eq!(wait_readable(&fds, None), [false, true, true]);
        assert_eq!(wait_readable(&[first.as_fd()], Some(Duration::ZERO)), [false]);
    }
}
