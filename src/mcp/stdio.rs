//! The two pipes of the server: a thread that reads lines, and a thread that writes them. A client that reads slowly delays no
//! other work.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An event on the input of the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// A line above the maximum length, which is dropped.
    TooLong,
    End,
    /// The client has closed its end of stdout.
    Unread,
}

/// Starts the thread that reads lines of at most `longest` bytes from stdin. After the end of stdin, the thread sends
/// [`Line::End`]. Returns the receiver of the lines, and a sender by which other threads can send to it, too.
pub(super) fn read_lines(longest: usize) -> io::Result<(UnboundedSender<Line>, UnboundedReceiver<Line>)> {
    let (sender, lines) = unbounded_channel();
    let out = sender.clone();
    thread::Builder::new().name("stdin".into()).spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut stdin, longest) {
            if sender.send(line).is_err() {
                return;
            }
        }
        let _ = sender.send(Line::End);
    })?;
    Ok((out, lines))
}

/// The next line; `None` at the end. The last line needs no line break.
fn next_line(from: &mut impl BufRead, longest: usize) -> io::Result<Option<Line>> {
    let (mut line, mut is_too_long, mut has_any) = (Vec::new(), false, false);
    loop {
        let available = match from.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(has_any.then_some(if is_too_long { Line::TooLong } else { Line::Text(line) }));
        }
        has_any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let text = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        is_too_long |= line.len() + text.len() > longest;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(text);
        }
        let used = end.map_or(available.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(Some(if is_too_long { Line::TooLong } else { Line::Text(line) }));
        }
    }
}

#[derive(Debug)]
pub(super) struct Output {
    lines: Option<Sender<Vec<u8>>>,
    done: Receiver<()>,
}

impl Output {
    /// Starts the thread that writes to stdout. When the client has closed its end of stdout, the thread sends [`Line::Unread`]
    /// to `input`.
    pub(super) fn start(input: UnboundedSender<Line>) -> io::Result<Self> {
        let (lines, queued) = channel::<Vec<u8>>();
        let (finished, done) = channel();
        thread::Builder::new().name("stdout".into()).spawn(move || {
            let mut stdout = io::stdout().lock();
            for line in queued {
                if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
                    let _ = input.send(Line::Unread);
                    break;
                }
            }
            let _ = finished.send(());
        })?;
        Ok(Self { lines: Some(lines), done })
    }

    pub(super) fn write(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        if let Some(lines) = &self.lines {
            let _ = lines.send(line);
        }
    }

    /// Waits until all lines are written, but at most for `limit`. No line can be sent afterwards.
    pub(super) fn finish(&mut self, limit: Duration) {
        self.lines = None;
        let _ = self.done.recv_timeout(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let mut from = io::BufReader::with_capacity(3, input);
        std::iter::from_fn(|| next_line(&mut from, 8).unwrap()).collect()
    }

    #[test]
    fn lines_are_whole_also_the_last_one_and_a_long_one_is_dropped() {
        let text = |line: &str| Line::Text(line.into());
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"one\n\n12345678\nlast"), [text("one"), text(""), text("12345678"), text("last")]);
        assert_eq!(lines(b"123456789\nnext\n"), [Line::TooLong, text("next")]);
        assert_eq!(lines(b"1234567890123"), [Line::TooLong]);
    }
}
