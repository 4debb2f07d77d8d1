//! The terminal's size, and how it hands on what is typed.

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

use nix::{
    libc,
    sys::termios::{self, InputFlags, LocalFlags, SetArg},
};

/// How many columns the terminal at stdout has; `None` when it is none.
#[must_use]
#[expect(unsafe_code, reason = "the ioctl that asks for a window's size has no safe form")]
pub fn width() -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open for the whole call and `size` is a winsize that the kernel may fill.
    let done = unsafe { libc::ioctl(io::stdout().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    Some(size.ws_col).filter(|_| done == 0).filter(|columns| *columns > 0)
}

/// Makes the terminal at stdin hand on every byte as it is typed, without echo; keys that send signals go on sending them.
/// Nothing when stdin is no terminal.
///
/// # Errors
/// When the terminal refuses.
pub fn hand_on_bytes() -> io::Result<()> {
    let stdin = io::stdin();
    let mut mode = match termios::tcgetattr(stdin.as_fd()) {
        Err(nix::errno::Errno::ENOTTY) => return Ok(()),
        mode => mode?,
    };
    mode.local_flags &= !(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::IEXTEN);
    mode.input_flags &= !(InputFlags::ICRNL | InputFlags::INLCR | InputFlags::IGNCR | InputFlags::IXON);
    Ok(termios::tcsetattr(stdin.as_fd(), SetArg::TCSANOW, &mode)?)
}
