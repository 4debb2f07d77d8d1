//! Passes a program's output on: unchanged into pipes, made safe for terminals.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::{Out, escape_controls};

/// Passes on the two output streams of a program. A failure to write is ignored, so that the program continues.
#[derive(Debug)]
pub struct Relay {
    /// Whether everything goes to stderr, because stdout is for a document.
    to_stderr: bool,
    stdout: Mutex<StreamFilter>,
    stderr: Mutex<StreamFilter>,
}

#[derive(Debug)]
struct StreamFilter {
    is_terminal: bool,
    /// The first bytes of a character whose other bytes have not come yet.
    incomplete: Vec<u8>,
}

impl StreamFilter {
    fn filter(&mut self, bytes: &[u8]) -> Vec<u8> {
        if !self.is_terminal {
            return bytes.to_vec();
        }
        let mut all = std::mem::take(&mut self.incomplete);
        all.extend_from_slice(bytes);
        let unfinished = match std::str::from_utf8(&all) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // A character that is begun may also stand behind a broken one.
            Err(_) => (all.len().saturating_sub(3)..all.len())
                .find(|at| {
                    all.get(*at..).is_some_and(|end| {
                        std::str::from_utf8(end).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
                    })
                })
                .unwrap_or(all.len()),
            Ok(_) => all.len(),
        };
        self.incomplete = all.split_off(unfinished);
        escape_controls(&String::from_utf8_lossy(&all)).into_bytes()
    }
}

impl Relay {
    /// A relay to the streams of `out`. When `out` writes a JSON document, both streams go to stderr.
    pub fn new(out: &Out, stdout_is_terminal: bool, stderr_is_terminal: bool) -> Self {
        let lane = |is_terminal| Mutex::new(StreamFilter { is_terminal, incomplete: Vec::new() });
        Self {
            to_stderr: out.json,
            stdout: lane(if out.json { stderr_is_terminal } else { stdout_is_terminal }),
            stderr: lane(stderr_is_terminal),
        }
    }

    /// Passes on bytes from the program's stdout, made safe if they go to a terminal.
    pub fn out(&self, bytes: &[u8]) {
        let shown = self.stdout.lock().unwrap_or_else(PoisonError::into_inner).filter(bytes);
        if self.to_stderr {
            write_lossy(&mut io::stderr().lock(), &shown);
        } else {
            write_lossy(&mut io::stdout().lock(), &shown);
        }
    }

    /// Passes on bytes from the program's stderr, made safe if they go to a terminal.
    pub fn err(&self, bytes: &[u8]) {
        let shown = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).filter(bytes);
        write_lossy(&mut io::stderr().lock(), &shown);
    }
}

fn write_lossy(to: &mut impl Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_sends_whole_characters_and_no_control_characters() {
        let text = "a\u{1b}[31mé👋\n".as_bytes();
        for at in 0..=text.len() {
            let mut lane = StreamFilter { is_terminal: true, incomplete: Vec::new() };
            let (first, second) = text.split_at(at);
            let shown = [lane.filter(first), lane.filter(second)].concat();
            assert_eq!(String::from_utf8(shown).unwrap(), "a\\u{1b}[31mé👋\n", "{at}");
        }
        let mut pipe = StreamFilter { is_terminal: false, incomplete: Vec::new() };
        assert_eq!(pipe.filter(text), text);
    }
}
