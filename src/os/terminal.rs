//! The terminal's size.

use std::os::fd::AsRawFd;

nix::ioctl_read_bad!(window_size, nix::libc::TIOCGWINSZ, nix::libc::winsize);

/// How many columns the terminal at stdout has; `None` when it is none.
#[must_use]
#[expect(unsafe_code, reason = "the ioctl that asks for a window's size has no safe form")]
pub fn width() -> Option<u16> {
    let mut size = nix::libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open for the whole call and `size` is a winsize that the kernel may fill.
    unsafe { window_size(std::io::stdout().as_raw_fd(), &raw mut size) }.ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}
