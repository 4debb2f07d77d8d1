//! Waiting for the first of several descriptors.

use std::{os::fd::BorrowedFd, time::Duration};

use nix::poll::{PollFd, PollFlags, poll};

use super::poll_timeout::poll_timeout;

/// Sleeps until one of these is readable or closed, or the limit is over (`None`: no limit). Returns for each whether it is.
/// An interrupt ends the wait early.
pub fn wait(these: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> = these.iter().map(|one| PollFd::new(*one, PollFlags::POLLIN)).collect();
    match poll(&mut polled, poll_timeout(limit)) {
        Ok(_) => polled.iter().map(|one| one.any().unwrap_or(true)).collect(),
        Err(_) => vec![false; these.len()],
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::fd::AsFd as _};

    use super::*;

    #[test]
    fn names_the_readable_and_the_closed_one() {
        let (first, _open) = std::io::pipe().unwrap();
        let (second, mut writer) = std::io::pipe().unwrap();
        let (third, closed) = std::io::pipe().unwrap();
        drop(closed);
        writer.write_all(b"x").unwrap();
        assert_eq!(wait(&[first.as_fd(), second.as_fd(), third.as_fd()], None), [false, true, true]);
        assert_eq!(wait(&[first.as_fd()], Some(Duration::ZERO)), [false]);
    }
}
