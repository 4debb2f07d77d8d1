//! What has a descriptor, as the one who waits for many wants it.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, RawFd},
};

use tokio::io::unix::AsyncFd;

/// It.
#[derive(Debug)]
pub(super) struct RawFdAdapter<T>(pub(super) T);

impl<T: AsFd> AsRawFd for RawFdAdapter<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Watches it.
///
/// # Errors
/// When the kernel refuses.
#[expect(
    deprecated,
    reason = "the safe form's only fault is a descriptor that changes, and what is kept here has one for good"
)]
pub(super) fn register_fd<T: AsFd>(it: T) -> io::Result<AsyncFd<RawFdAdapter<T>>> {
    AsyncFd::new(RawFdAdapter(it))
}
