//! Captured output within a limit: its head and its tail.

use std::collections::VecDeque;

/// Bytes in order, at most `limit` of them, plus one line that counts the dropped bytes.
#[derive(Debug)]
pub struct HeadTailBuffer {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl HeadTailBuffer {
    /// An empty buffer. Half of the limit is for the first bytes, half for the last ones.
    pub const fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    /// Appends bytes. Beyond the limit, bytes from the middle are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        // When the limit is exceeded, only the last bytes stay.
        let skipped = rest.len().saturating_sub(self.half);
        let rest = rest.get(skipped..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
        self.dropped += u64::try_from(skipped + over).unwrap_or_default();
    }

    /// The kept bytes, with a line that counts the dropped ones in their place.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        if self.dropped > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes left out]\n", self.dropped).as_bytes());
        }
        bytes.extend(&self.tail);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay_however_the_text_is_split() {
        let all: Vec<u8> = (0..100).map(|number| b'a' + number % 26).collect();
        for size in [1, 3, 7, 50, 100] {
            let mut kept = HeadTailBuffer::new(20);
            for chunk in all.chunks(size) {
                kept.push(chunk);
            }
            let want = [&all[..10], b"\n[80 bytes left out]\n", &all[90..]].concat();
            assert_eq!(kept.to_bytes(), want, "{size}");
        }
        let mut short = HeadTailBuffer::new(20);
        short.push(&all[..20]);
        assert_eq!(short.to_bytes(), &all[..20]);
    }
}
