//! Computes the last screen of a terminal, as text, from the transcript of the output to it.

use std::io;
use std::path::Path;

use super::screen_replay::render;
use super::transcript;
use crate::adapters::Terminal;
use crate::os::terminal::Size;

/// How much of a transcript is read at most, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// The largest terminal that is assumed. A program that asks for the size moves the cursor beyond any real terminal.
const MAX_SIZE: Size = Size { rows: 300, cols: 600 };
/// The sequences with which a full-screen program leaves its own screen.
const LEAVES: [&[u8]; 3] = [b"\x1b[?1049l", b"\x1b[?1047l", b"\x1b[?47l"];
const ENTERS: [&[u8]; 3] = [b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h"];

/// The kind of program that printed a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedBy {
    /// A program with a terminal.
    Terminal,
    /// A program without a terminal: each line feed also returns to the first column.
    Pipe,
    /// It is not known.
    Unknown,
}

/// The last lines of the scrollback and screen of a terminal that has displayed a transcript; all of them when `lines` is 0. Only
/// the end of a large transcript is read.
pub fn last_lines(path: &Path, printed_by: PrintedBy, lines: usize) -> io::Result<String> {
    let (mut bytes, is_cut) = transcript::end(path, MAX_BYTES)?;
    if is_cut {
        // After a cut, the first line or sequence may be incomplete.
        let whole = bytes.iter().position(|byte| matches!(byte, b'\n' | 0x1b)).unwrap_or_default();
        bytes.drain(..whole);
    }
    Ok(of_text(&bytes, printed_by, lines))
}

/// Like [`last_lines`], but for output that is given as bytes instead of a file.
pub fn of_text(printed: &[u8], printed_by: PrintedBy, lines: usize) -> String {
    let size = assumed_size(printed);
    let is_piped = match printed_by {
        PrintedBy::Terminal => false,
        PrintedBy::Pipe => true,
        PrintedBy::Unknown => !printed.windows(2).any(|pair| pair == b"\r\n") && last_of(printed, &ENTERS).is_none(),
    };
    let translated = is_piped.then(|| begin_lines(printed));
    let printed = translated.as_deref().unwrap_or(printed);
    let shown = render(printed, None, size, lines);
    if !shown.is_empty() {
        return shown;
    }
    // A full-screen program restores the earlier screen when it ends, and here that is blank. So its own last screen is taken.
    match last_of(printed, &LEAVES).and_then(|at| printed.get(..at)) {
        Some(before) => render(before, None, size, lines),
        None => shown,
    }
}

/// The offset at which one of these sequences begins for the last time.
fn last_of(printed: &[u8], sequences: &[&[u8]]) -> Option<usize> {
    let last = |sequence: &&[u8]| printed.windows(sequence.len()).rposition(|bytes| bytes == *sequence);
    sequences.iter().filter_map(last).max()
}

/// Adds a carriage return before each line feed, as a terminal does for the output of programs.
pub(super) fn begin_lines(printed: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(printed.len() + printed.len() / 16);
    for byte in printed {
        if *byte == b'\n' {
            lines.push(b'\r');
        }
        lines.push(*byte);
    }
    lines
}

/// The terminal size to assume for this output: the default size, enlarged to all rows and columns that the output addresses. It
/// may address more of them when a person had attached with a larger terminal.
pub(super) fn assumed_size(printed: &[u8]) -> Size {
    let usual = Terminal::default();
    let mut size = Size { rows: usual.rows, cols: usual.cols };
    let mut rest = printed;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"\x1b[") {
        rest = rest.get(at + 2..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
        let mut numbers = rest.get(..length).unwrap_or_default().split(|byte| *byte == b';').map(|digits| {
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u16>().ok()).unwrap_or_default()
        });
        let (first, second) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let (row, col) = match rest.get(length) {
            Some(b'H' | b'f') => (first, second),
            Some(b'd') => (first, 0),
            Some(b'G' | b'`') => (0, first),
            Some(b'r') => (second, 0),
            _ => (0, 0),
        };
        if row <= MAX_SIZE.rows && col <= MAX_SIZE.cols {
            size = Size { rows: size.rows.max(row), cols: size.cols.max(col) };
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shown(printed: &[u8]) -> String {
        of_text(printed, PrintedBy::Terminal, 0)
    }

    #[test]
    fn last_screen_of_a_full_screen_program_is_shown() {
        let drawn = b"$ less f\r\n\x1b[?1049h\x1b[H\x1b[2Jline one\r\nline two\x1b[24;1H\x1b[7mf (END)\x1b[27m";
        let screen = format!("line one\nline two\n{}f (END)\n", "\n".repeat(21));
        // A program that is killed in its own screen, and programs that ended normally in a shell and in an empty screen.
        assert_eq!(shown(drawn), screen);
        assert_eq!(shown(&[&drawn[..], b"\x1b[?1049l$ "].concat()), "$ less f\n$\n");
        assert_eq!(shown(&[&drawn[10..], b"\x1b[?1049l\r\x1b[K"].concat()), screen);
    }

    #[test]
    fn editing_of_a_command_line_is_replayed() {
        let typed = b"$ echo wiat\x08\x08\x08\x1b[Kait\r\nwait\r\n$ \x1b[?2004h";
        assert_eq!(shown(typed), "$ echo wait\nwait\n$\n");
    }

    #[test]
    fn rows_beyond_the_usual_size_are_shown() {
        assert_eq!(shown(b"\x1b[60;230Hx\x1b[H").lines().nth(59).map(str::len), Some(230));
        assert_eq!(assumed_size(b"\x1b[999;999H\x1b[6n"), Size { rows: 50, cols: 200 });
        assert_eq!(assumed_size(b"\x1b[1;70r\x1b[5d\x1b[250G"), Size { rows: 70, cols: 250 });
    }

    #[test]
    fn line_feed_of_a_pipe_begins_a_line() {
        let colored = b"\x1b[32mok\x1b[0m one\n10 %\r20 %\nlast\n";
        for by in [PrintedBy::Pipe, PrintedBy::Unknown] {
            assert_eq!(of_text(colored, by, 0), "ok one\n20 %\nlast\n", "{by:?}");
        }
        assert_eq!(of_text(colored, PrintedBy::Pipe, 1), "last\n");
    }

    #[test]
    fn end_of_a_large_transcript_is_a_whole_screen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let frame: String = (1..=20).map(|row| format!("\x1b[{row};1H\x1b[2Krow {row} \u{2500}")).collect();
        let start = "\x1b[?1049h\x1b[H\x1b[2J".to_owned();
        let frames = usize::try_from(MAX_BYTES).unwrap() / frame.len() + 500;
        fs::write(&path, start + &frame.repeat(frames)).unwrap();
        let want: String = (1..=20).map(|row| format!("row {row} \u{2500}\n")).collect();
        assert_eq!(last_lines(&path, PrintedBy::Terminal, 0).unwrap(), want);
        assert_eq!(last_lines(&dir.path().join("none"), PrintedBy::Terminal, 0).unwrap(), "");
        // A transcript that was just started anew continues the previous file.
        fs::rename(&path, dir.path().join("t.1")).unwrap();
        fs::write(&path, "\x1b[1;1H\x1b[2Knew").unwrap();
        assert_eq!(last_lines(&path, PrintedBy::Terminal, 0).unwrap(), want.replacen("row 1 \u{2500}", "new", 1));
    }
}
