//! Typing into a session without a terminal, whose program reads from a FIFO, and interrupting it.

use std::{
    io,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use super::{SessionDir, session_dir::INPUT_FIFO};
use crate::{domain::terminal_keys, os::fifo};

/// How long a text may take, the wait for other writers included.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

impl SessionDir {
    /// Hands a text to the program, followed by a newline. A session that is not there is no failure.
    ///
    /// # Errors
    /// When the program does not take it, or others type for too long.
    pub fn send_line(&self, text: &[u8]) -> io::Result<()> {
        self.write_input(&[text, b"\n"].concat())
    }

    /// Presses keys. What a terminal would turn into a signal or a newline is turned into that here. A session that is not
    /// there is no failure.
    ///
    /// # Errors
    /// When the program does not take them, or others type for too long.
    pub fn send_keys(&self, pressed: &[String]) -> io::Result<()> {
        let mut text = Vec::new();
        for key in pressed {
            match key.as_str() {
                "Enter" => text.push(b'\n'),
                "C-c" => {
                    self.write_input(&std::mem::take(&mut text))?;
                    self.interrupt()?;
                }
                key => text.extend(terminal_keys::bytes(key)),
            }
        }
        self.write_input(&text)
    }

    /// Interrupts what the program and its children do, as Ctrl-C would. A session that is not there is no failure.
    pub fn interrupt(&self) -> io::Result<()> {
        match self.program() {
            Some(program) => program.signal_group(Signal::SIGINT).map(drop),
            None => Ok(()),
        }
    }

    fn write_input(&self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() || !self.is_alive()? {
            return Ok(());
        }
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let lock = self.lock_input(WRITE_TIMEOUT)?;
        if lock.is_none() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "another process is typing into the session"));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match fifo::write_within(&self.file(INPUT_FIFO), text, left) {
            // It has ended meanwhile.
            Err(_) if self.has_exited()? => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::new(error.kind(), "the session has a terminal of its own to type into"))
            }
            done => done,
        }
    }
}
