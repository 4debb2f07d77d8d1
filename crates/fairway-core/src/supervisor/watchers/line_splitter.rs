//! Puts the lines of a stream together from chunks that may be cut anywhere.

use std::borrow::Cow;
use std::time::Duration;

use crate::domain::ansi;

/// The longest line, in bytes. A longer line is matched in parts of at most this length.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;
/// The silence after which an unfinished line is matched: it may be a prompt.
pub(super) const IDLE_DELAY: Duration = Duration::from_millis(150);

/// An unfinished line, and the watchers that have counted it already.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    partial: Vec<u8>,
    /// The last line ended with a carriage return: a newline right after it belongs to that line.
    ended_with_cr: bool,
    due: Option<Duration>,
    /// One bit for each watcher that has matched the unfinished line.
    counted_by: u32,
}

impl LineSplitter {
    /// Adds a piece of output and calls `see` for each line that it completes. Along with the line, `see` gets one bit for each
    /// watcher, which is set when the watcher has already counted a match in the beginning of the line.
    pub fn push(&mut self, chunk: &[u8], now: Duration, mut see: impl FnMut(&[u8], u32)) {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (part, after) = rest.split_at(end);
            let newline = after.first() == Some(&b'\n');
            rest = after.get(1..).unwrap_or_default();
            if !part.is_empty() || !self.partial.is_empty() {
                self.finish_line(part, &mut see);
                self.ended_with_cr = !newline;
            } else if newline {
                if !self.ended_with_cr {
                    see(b"", 0);
                }
                self.ended_with_cr = false;
            }
        }
        if !rest.is_empty() {
            self.append(rest, &mut see);
            self.due = Some(now + IDLE_DELAY);
        }
    }

    /// When [`idle_partial`](Self::idle_partial) returns the unfinished line; `None` when there is nothing new to match.
    pub const fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns the unfinished line once it has not grown for long enough, with one bit for each watcher that has already counted
    /// it. Returns `None` before, and when the line was already returned and has not grown since. An incomplete character at the
    /// end of the line is left out.
    pub fn idle_partial(&mut self, now: Duration) -> Option<(&[u8], u32)> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        self.due = None;
        self.partial.get(..complete_length(&self.partial)).map(|held| (held, self.counted_by))
    }

    /// Records which watchers have counted a match in the unfinished line, one bit for each.
    pub const fn set_counted_by(&mut self, counted: u32) {
        self.counted_by = counted;
    }

    /// Passes the unfinished line to `see`, if there is one. To be called when the output has ended.
    pub fn finish(&mut self, mut see: impl FnMut(&[u8], u32)) {
        if !self.partial.is_empty() {
            self.finish_line(b"", &mut see);
        }
    }

    /// Ends the line with these bytes.
    fn finish_line(&mut self, part: &[u8], see: &mut impl FnMut(&[u8], u32)) {
        if self.partial.is_empty() && part.len() <= MAX_LINE_BYTES {
            see(part, 0);
        } else {
            self.append(part, see);
            see(&self.partial, self.counted_by);
        }
        self.partial.clear();
        (self.counted_by, self.due) = (0, None);
    }

    /// Continues the line with these bytes. A line that is too long is passed on in parts that end with a complete character.
    fn append(&mut self, mut part: &[u8], see: &mut impl FnMut(&[u8], u32)) {
        self.ended_with_cr = false;
        while self.partial.len() + part.len() > MAX_LINE_BYTES {
            let (now, later) = part.split_at(MAX_LINE_BYTES.saturating_sub(self.partial.len()).min(part.len()));
            self.partial.extend_from_slice(now);
            let end = complete_length(&self.partial);
            see(self.partial.get(..end).unwrap_or_default(), self.counted_by);
            self.partial.drain(..end);
            self.counted_by = 0;
            part = later;
        }
        self.partial.extend_from_slice(part);
    }
}

/// The number of bytes before an incomplete character at the end.
fn complete_length(bytes: &[u8]) -> usize {
    let end = bytes.get(bytes.len().saturating_sub(3)..).unwrap_or_default();
    for (back, byte) in end.iter().rev().enumerate() {
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => break,
        };
        return if back + 1 < needs { bytes.len() - back - 1 } else { bytes.len() };
    }
    bytes.len()
}

/// The visible text of a line, without escape sequences and control characters.
pub(super) fn visible_line(line: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    // The second set of control characters begins with this byte, and so do others.
    let plain = text.bytes().all(|byte| byte == b'\t' || !(byte < 0x20 || matches!(byte, 0x7f | 0xc2)));
    if plain { text } else { Cow::Owned(ansi::strip_escapes(&text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn lines(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut seen) = (LineSplitter::default(), Vec::new());
        for chunk in chunks {
            lines.push(chunk, NOW, |line, _| seen.push(line.to_vec()));
        }
        lines.finish(|line, _| seen.push(line.to_vec()));
        seen
    }

    #[test]
    fn newlines_and_carriage_returns_end_lines_wherever_they_are_cut() {
        let all = b"one\r\ntwo\n\n\r\n10%\r20%\r\r\nthree\r\n\nend";
        let wanted: Vec<Vec<u8>> =
            ["one", "two", "", "", "10%", "20%", "three", "", "end"].map(|line| line.as_bytes().to_vec()).into();
        assert_eq!(lines(&[all]), wanted);
        for first in 0..all.len() {
            for second in first..all.len() {
                let cut: [&[u8]; 3] = [&all[..first], &all[first..second], &all[second..]];
                assert_eq!(lines(&cut), wanted, "{first} {second}");
            }
        }
    }

    #[test]
    fn line_without_an_end_is_seen_in_parts_of_whole_characters() {
        let long = format!("x{}", "é".repeat(MAX_LINE_BYTES));
        let parts = lines(&[long.as_bytes()]);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.len() <= MAX_LINE_BYTES && std::str::from_utf8(part).is_ok()));
        assert_eq!(parts.concat(), long.as_bytes());
        let cut: Vec<&[u8]> = long.as_bytes().chunks(1000).collect();
        assert_eq!(lines(&cut), parts);
        // A line of exactly the longest length stays whole.
        let fits = format!("{}\n", "x".repeat(MAX_LINE_BYTES));
        assert_eq!(lines(&[fits.as_bytes()]).len(), 1);
        assert_eq!(lines(&[&fits.as_bytes()[..MAX_LINE_BYTES], b"\n"]).len(), 1);
    }

    #[test]
    fn held_line_is_matched_once_per_silence_in_whole_characters() {
        let mut lines = LineSplitter::default();
        lines.push("pass: é".as_bytes().split_last().unwrap().1, NOW, |_, _| panic!());
        assert_eq!(lines.due(), Some(IDLE_DELAY));
        assert_eq!(lines.idle_partial(Duration::from_millis(149)), None);
        assert_eq!(lines.idle_partial(IDLE_DELAY), Some((b"pass: ".as_slice(), 0)));
        lines.set_counted_by(5);
        assert_eq!(lines.idle_partial(IDLE_DELAY * 2), None);
        assert_eq!(lines.due(), None);
        let mut seen = Vec::new();
        lines.push(b"\xa9\nnext\n", IDLE_DELAY, |line, counted| seen.push((line.to_vec(), counted)));
        assert_eq!(seen, [("pass: é".as_bytes().to_vec(), 5), (b"next".to_vec(), 0)]);
        assert_eq!(lines.due(), None);
    }

    #[test]
    fn line_is_read_without_what_moves_and_colours() {
        assert_eq!(visible_line(b"\x1b[1;31merror\x1b[0m: \tx "), "error: \tx ");
        assert_eq!(visible_line(b"\x1b]0;title\x07er\x08ror"), "eror");
        assert_eq!(visible_line(b"\xc2\x9b31mred \xff"), "red \u{fffd}");
        assert!(matches!(visible_line("Grüße".as_bytes()), Cow::Borrowed(_)));
    }
}
