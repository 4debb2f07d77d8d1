//! Computes the screen and scrollback of a terminal from the bytes printed to it, for multiplexers that cannot report them
//! exactly.

use std::num::NonZeroU16;
use std::{fs, io};

use super::{SessionDir, transcript};
use crate::os::terminal::Size;

/// How much of a transcript is read at most, in bytes.
const MAX_TRANSCRIPT_BYTES: u64 = 4 << 20;
/// How many lines that were scrolled off the screen are kept at most.
const MAX_SCROLLBACK_LINES: usize = 10_000;
/// The size of a terminal whose size is unknown.
const DEFAULT_SIZE: Size = Size { rows: 50, cols: 200 };
/// The terminal's current size.
const SIZE_FILE: &str = "size";
/// The length of the transcript when the scrollback was cleared, in bytes.
const CLEARED_FILE: &str = "cleared";

impl SessionDir {
    /// Stores the size of the session's terminal in the session's directory, for later calls of
    /// [`screen_text`](Self::screen_text).
    pub(super) fn record_size(&self, size: Size) -> io::Result<()> {
        self.write_file(SIZE_FILE, format!("{} {}", size.rows, size.cols).as_bytes())
    }

    /// The recorded height of the session's terminal, in rows; a default height when none was recorded.
    pub(super) fn screen_rows(&self) -> u16 {
        self.recorded_size().unwrap_or(DEFAULT_SIZE).rows
    }

    fn recorded_size(&self) -> Option<Size> {
        let text = fs::read_to_string(self.file(SIZE_FILE)).ok()?;
        let (rows, cols) = text.split_once(' ')?;
        Some(Size { rows: rows.parse().ok()?, cols: cols.parse().ok()? })
    }

    /// The last lines of the scrollback and screen of the session's terminal, without blank lines at the end; all of them when
    /// `lines` is 0.
    pub fn screen_text(&self, lines: usize) -> io::Result<String> {
        let (start, bytes) =
            transcript::read_end(&self.transcript_path()?, self.transcript_offset(), MAX_TRANSCRIPT_BYTES)?;
        let cleared = fs::read_to_string(self.file(CLEARED_FILE)).ok().and_then(|text| text.parse::<u64>().ok());
        let cleared = cleared.and_then(|at| usize::try_from(at.checked_sub(start)?).ok());
        let size = self.recorded_size().unwrap_or(DEFAULT_SIZE);
        Ok(render(&bytes, cleared.filter(|at| *at <= bytes.len()), size, lines))
    }

    /// Discards the lines that have scrolled off the screen. A session that does not exist is no error.
    pub fn clear_scrollback(&self) -> io::Result<()> {
        match fs::metadata(self.transcript_path()?) {
            Ok(found) if self.path().is_dir() => self.write_file(CLEARED_FILE, found.len().to_string().as_bytes()),
            _ => Ok(()),
        }
    }
}

/// The last lines of a terminal after it has displayed the output `printed`, as from [`shown_lines`]. `cleared` is the offset in
/// `printed`, in bytes, at which the scrollback was cleared; `None` when it was not.
pub(super) fn render(printed: &[u8], cleared: Option<usize>, size: Size, lines: usize) -> String {
    let mut parser = parser(size);
    let (before, after) = printed.split_at(cleared.unwrap_or(0).min(printed.len()));
    parser.process(before);
    if cleared.is_some() {
        parser.screen_mut().clear_scrollback();
    }
    parser.process(after);
    shown_lines(&mut parser, size, lines)
}

/// A terminal emulator of this size with an empty screen.
pub(super) fn parser(size: Size) -> vt100::Parser {
    let cells = |count: u16| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
    vt100::Parser::new(cells(size.rows), cells(size.cols), MAX_SCROLLBACK_LINES)
}

/// The last lines of a terminal's scrollback and screen, without blank lines at the end; all of them when `lines` is 0. A line
/// that the terminal has wrapped is one line.
pub(super) fn shown_lines(parser: &mut vt100::Parser, size: Size, lines: usize) -> String {
    let screen = parser.screen_mut();
    let mut shown: Vec<String> = Vec::new();
    let mut joins = false;
    // Reads one screenful at a time, from the oldest line on. Wrapped rows are joined to one line.
    let mut above = screen.scrollback_len();
    loop {
        screen.set_scrollback(above);
        let fresh = if above == 0 { usize::from(size.rows) } else { above.min(usize::from(size.rows)) };
        let rows: Vec<String> = screen.rows(0, size.cols).take(fresh).collect();
        for (at, row) in (0_u16..).zip(rows) {
            match shown.last_mut().filter(|_| joins) {
                Some(line) => line.push_str(&row),
                None => shown.push(row),
            }
            joins = screen.row_wrapped(at);
        }
        if above == 0 {
            break;
        }
        above -= fresh;
    }
    let mut shown: Vec<&str> = shown.iter().map(|line| line.trim_end()).collect();
    while shown.last().is_some_and(|line| line.is_empty()) {
        shown.pop();
    }
    let from = if lines == 0 { 0 } else { shown.len().saturating_sub(lines) };
    shown.iter().skip(from).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size { rows: 4, cols: 10 };

    #[test]
    fn replay_has_the_screen_and_its_scrollback() {
        let printed: String = (1..=100).map(|number| format!("{number}\r\n")).collect();
        let all: String = (1..=100).map(|number| format!("{number}\n")).collect();
        assert_eq!(render(printed.as_bytes(), None, SMALL, 0), all);
        assert_eq!(render(printed.as_bytes(), None, SMALL, 2), "99\n100\n");
        assert_eq!(render(printed.as_bytes(), Some(printed.len()), SMALL, 0), "98\n99\n100\n");
        assert_eq!(render(b"", None, SMALL, 0), "");
    }

    #[test]
    fn replay_shows_drawn_cells_as_drawn() {
        let drawn = "old\x1b[2J\x1b[2;3H\x1b[1m\u{276f} go\x1b[0m\r\n\x1b]0;title\x07äöü 字🦀   \x1b[A";
        assert_eq!(render(drawn.as_bytes(), None, SMALL, 0), "\n  \u{276f} go\näöü 字🦀\n");
        assert_eq!(render(b"0123456789abcdefghijKL\r\nx", None, SMALL, 0), "0123456789abcdefghijKL\nx\n");
        // A program that draws a screen of its own, and one that has left it again.
        assert_eq!(render(b"before\r\n\x1b[?1049h\x1b[Hdrawn", None, SMALL, 0), "drawn\n");
        assert_eq!(render(b"before\r\n\x1b[?1049h\x1b[Hdrawn\x1b[?1049lafter", None, SMALL, 0), "before\nafter\n");
    }
}
