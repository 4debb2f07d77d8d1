//! Terminals: their size, their modes, and a yes-or-no question.

use std::io::{self, BufRead, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::termios::{self, InputFlags, LocalFlags, SetArg, Termios};

/// The columns of the terminal at stdout; `None` when stdout is not a terminal or has no size.
pub fn width() -> Option<u16> {
    size().map(|(_, columns)| columns)
}

/// The rows and columns of the terminal at stdout; `None` when stdout is not a terminal or has no size.
pub fn size() -> Option<(u16, u16)> {
    size_of(io::stdout().as_fd()).map(|size| (size.rows, size.cols))
}

/// A terminal's size, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
}

/// The size of a terminal; `None` for other files and for an unknown size.
#[expect(unsafe_code, reason = "the ioctl that asks for a window's size has no safe form")]
pub fn size_of(terminal: BorrowedFd<'_>) -> Option<Size> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open for the whole call and `size` is a winsize that the kernel may fill.
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    let size = Size { rows: size.ws_row, cols: size.ws_col };
    (done == 0 && size.rows > 0 && size.cols > 0).then_some(size)
}

/// Sets the size of a terminal; its foreground group gets SIGWINCH.
#[expect(unsafe_code, reason = "the ioctl that sets a window's size has no safe form")]
pub fn resize(terminal: BorrowedFd<'_>, size: Size) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open for the whole call and the kernel only reads `size`.
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    Errno::result(done)?;
    Ok(())
}

/// A terminal in raw mode, until this is dropped.
#[derive(Debug)]
pub struct RawMode {
    terminal: OwnedFd,
    original: Termios,
}

impl RawMode {
    /// Puts a terminal into raw mode; `None` when it is not a terminal.
    pub fn enable(terminal: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        let Ok(before) = termios::tcgetattr(terminal) else { return Ok(None) };
        let mut raw = before.clone();
        termios::cfmakeraw(&mut raw);
        termios::tcsetattr(terminal, SetArg::TCSANOW, &raw)?;
        Ok(Some(Self { terminal: terminal.try_clone_to_owned()?, original: before }))
    }

    /// The settings of the terminal before it was put into raw mode.
    pub const fn original(&self) -> &Termios {
        &self.original
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(&self.terminal, SetArg::TCSANOW, &self.original);
    }
}

/// Makes the terminal at stdin pass on every byte as it is typed, without echo. Keys that send signals still do. Does nothing
/// when stdin is not a terminal.
pub fn enable_cbreak() -> io::Result<()> {
    let stdin = io::stdin();
    let Ok(mut mode) = termios::tcgetattr(stdin.as_fd()) else { return Ok(()) };
    mode.local_flags &= !(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::IEXTEN);
    mode.input_flags &= !(InputFlags::ICRNL | InputFlags::INLCR | InputFlags::IGNCR | InputFlags::IXON);
    Ok(termios::tcsetattr(stdin.as_fd(), SetArg::TCSANOW, &mode)?)
}

/// Asks a question on stderr and reads the answer from stdin. Only `y` and `yes`, in any letter case, confirm.
pub fn confirm(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        writeln!(stderr)?;
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
