//! A program's output on its way through: as it is into pipes, made safe for terminals.

use std::{
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

use super::{Out, safe};

/// Passes a program's two streams on. What cannot be written is left out: the program goes on.
#[derive(Debug)]
pub struct Relay {
    /// Everything goes to stderr: stdout is for a document.
    to_stderr: bool,
    stdout: Mutex<Lane>,
    stderr: Mutex<Lane>,
}

#[derive(Debug)]
struct Lane {
    is_terminal: bool,
    /// The beginning of a letter whose rest has not come yet.
    begun: Vec<u8>,
}

impl Lane {
    fn shown(&mut self, bytes: &[u8]) -> Vec<u8> {
        if !self.is_terminal {
            return bytes.to_vec();
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let unfinished = match std::str::from_utf8(&all) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // A letter that is begun may also stand behind a broken one.
            Err(_) => (all.len().saturating_sub(3)..all.len())
                .find(|at| {
                    all.get(*at..).is_some_and(|end| {
                        std::str::from_utf8(end).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
                    })
                })
                .unwrap_or(all.len()),
            Ok(_) => all.len(),
        };
        self.begun = all.split_off(unfinished);
        safe(&String::from_utf8_lossy(&all)).into_bytes()
    }
}

impl Relay {
    /// A relay to where results and remarks go.
    #[must_use]
    pub fn new(out: &Out, stdout_is_terminal: bool, stderr_is_terminal: bool) -> Self {
        let lane = |is_terminal| Mutex::new(Lane { is_terminal, begun: Vec::new() });
        Self {
            to_stderr: out.json,
            stdout: lane(if out.json { stderr_is_terminal } else { stdout_is_terminal }),
            stderr: lane(stderr_is_terminal),
        }
    }

    /// Passes on what came from the program's stdout.
    pub fn out(&self, bytes: &[u8]) {
        let shown = self.stdout.lock().unwrap_or_else(PoisonError::into_inner).shown(bytes);
        if self.to_stderr {
            pass(&mut io::stderr().lock(), &shown);
        } else {
            pass(&mut io::stdout().lock(), &shown);
        }
    }

    /// Passes on what came from the program's stderr.
    pub fn err(&self, bytes: &[u8]) {
        let shown = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).shown(bytes);
        pass(&mut io::stderr().lock(), &shown);
    }
}

fn pass(to: &mut impl Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_whole_letters_and_nothing_that_it_obeys() {
        let text = "a\u{1b}[31mé👋\n".as_bytes();
        for at in 0..=text.len() {
            let mut lane = Lane { is_terminal: true, begun: Vec::new() };
            let (first, second) = text.split_at(at);
            let shown = [lane.shown(first), lane.shown(second)].concat();
            assert_eq!(String::from_utf8(shown).unwrap(), "a\\u{1b}[31mé👋\n", "{at}");
        }
        let mut pipe = Lane { is_terminal: false, begun: Vec::new() };
        assert_eq!(pipe.shown(text), text);
    }
}
