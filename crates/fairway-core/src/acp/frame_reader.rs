//! Bytes of an agent's stdout as lines of bounded length.

/// The longest frame, in bytes. The rest of a longer line is dropped.
pub const MAX_FRAME_BYTES: usize = 8 << 20;
/// The capacity that the buffer keeps between frames, in bytes.
const RETAINED_BYTES: usize = 64 << 10;

/// A line of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A complete line without its newline.
    Complete(&'a [u8]),
    /// The end of a line that was longer than [`MAX_FRAME_BYTES`].
    TooLong,
}

/// Splits a stream into lines.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Whether the current line is too long, and its rest is dropped.
    is_skipping: bool,
}

impl FrameReader {
    /// Adds the next bytes of the stream and calls `visit` with every line that they complete. Blank lines are left out.
    pub fn push(&mut self, mut bytes: &[u8], visit: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.buffer.is_empty() && !self.is_skipping && line.len() <= MAX_FRAME_BYTES {
                visit_complete(line, visit);
                continue;
            }
            self.extend(line);
            if self.is_skipping {
                visit(Line::TooLong);
            } else {
                visit_complete(&self.buffer, visit);
            }
            self.is_skipping = false;
            self.buffer.clear();
            self.buffer.shrink_to(RETAINED_BYTES);
        }
        self.extend(bytes);
    }

    /// The bytes received so far of the last line, whose newline has not arrived yet.
    pub fn incomplete(&self) -> &[u8] {
        &self.buffer
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.is_skipping || self.buffer.len() + bytes.len() > MAX_FRAME_BYTES {
            self.is_skipping = true;
            self.buffer = Vec::new();
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }
}

fn visit_complete(line: &[u8], visit: &mut dyn FnMut(Line<'_>)) {
    if !line.trim_ascii().is_empty() {
        visit(Line::Complete(line));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of(pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let (mut reader, mut lines) = (FrameReader::default(), Vec::new());
        for piece in pieces {
            reader.push(piece, &mut |line| {
                lines.push(match line {
                    Line::Complete(line) => Some(line.to_vec()),
                    Line::TooLong => None,
                });
            });
        }
        lines
    }

    #[test]
    fn half_frame_waits_for_its_rest_and_blank_lines_are_none() {
        let mut reader = FrameReader::default();
        reader.push(b"{\"a\":1}\n\r\n \n{\"b\"", &mut |line| assert_eq!(line, Line::Complete(b"{\"a\":1}")));
        assert_eq!(reader.incomplete(), b"{\"b\"");
        let mut seen = 0;
        reader.push(b":2}\r\n", &mut |line| {
            seen += 1;
            assert_eq!(line, Line::Complete(b"{\"b\":2}\r"));
        });
        assert_eq!((seen, reader.incomplete()), (1, &b""[..]));
    }

    #[test]
    fn line_above_the_limit_is_dropped_and_the_next_one_is_read() {
        let long = vec![b'x'; MAX_FRAME_BYTES + 1];
        assert_eq!(lines_of(&[&long, b"y\nz\n"]), [None, Some(b"z".to_vec())]);
        assert_eq!(lines_of(&[&[long.as_slice(), b"\nz\n"].concat()]), [None, Some(b"z".to_vec())]);
        let mut reader = FrameReader::default();
        for _ in 0..4 {
            reader.push(&long, &mut |_| panic!("the line has no end"));
        }
        assert_eq!(reader.incomplete(), b"", "a flood without a newline takes no memory");
    }

    proptest! {
        /// The lines do not depend on how the stream was cut.
        #[test]
        fn lines_are_the_same_for_any_cut(text in "[ab\n]{0,40}", cuts in proptest::collection::vec(0_usize..40, 0..6)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let whole: Vec<_> = text.split_inclusive('\n').filter(|line| line.ends_with('\n') && line.len() > 1)
                .map(|line| Some(line.trim_end().as_bytes().to_vec())).collect();
            prop_assert_eq!(lines_of(&pieces), whole);
        }
    }
}
