//! Lets tokio wait for a value that has a file descriptor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use tokio::io::unix::AsyncFd;

/// Adds `AsRawFd`, which [`AsyncFd`] needs, to a value that has only `AsFd`.
#[derive(Debug)]
pub(super) struct RawFdAdapter<T>(pub(super) T);

impl<T: AsFd> AsRawFd for RawFdAdapter<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Registers the value's descriptor with the current runtime.
#[expect(
    deprecated,
    reason = "deprecated because the descriptor of a value could change; the values registered here keep theirs"
)]
pub(super) fn register_fd<T: AsFd>(value: T) -> io::Result<AsyncFd<RawFdAdapter<T>>> {
    AsyncFd::new(RawFdAdapter(value))
}
