//! The terminal's size.

use std::os::fd::AsRawFd;

use nix::libc;

/// How many columns the terminal at stdout has; `None` when it is none.
#[must_use]
pub fn width() -> Option<u16> {
    size().map(|(_, columns)| columns)
}

/// How many rows and columns the terminal at stdout has; `None` when it is none, or does not tell.
#[must_use]
#[expect(unsafe_code, reason = "the ioctl that asks for a window's size has no safe form")]
pub fn size() -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open for the whole call and `size` is a winsize that the kernel may fill.
    let done = unsafe { libc::ioctl(std::io::stdout().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    Some((size.ws_row, size.ws_col)).filter(|(rows, columns)| done == 0 && *rows > 0 && *columns > 0)
}
