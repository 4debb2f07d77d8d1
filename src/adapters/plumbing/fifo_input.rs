//! Typing into a session without a terminal, whose program reads from a FIFO, and interrupting it.

use std::{
    io,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use super::{Folder, session_dir::INPUT};
use crate::{domain::keys, os::fifo};

/// How long a text may take, together with whoever types before.
const LIMIT: Duration = Duration::from_secs(10);

impl Folder {
    /// Hands a text to the program, followed by a newline. A session that is not there is no failure.
    ///
    /// # Errors
    /// When the program does not take it, or others type for too long.
    pub fn input(&self, text: &[u8]) -> io::Result<()> {
        self.write(&[text, b"\n"].concat())
    }

    /// Presses keys. What a terminal would turn into a signal or a newline is turned into that here. A session that is not
    /// there is no failure.
    ///
    /// # Errors
    /// When the program does not take them, or others type for too long.
    pub fn press(&self, pressed: &[String]) -> io::Result<()> {
        let mut text = Vec::new();
        for key in pressed {
            match key.as_str() {
                "Enter" => text.push(b'\n'),
                "C-c" => {
                    self.write(&std::mem::take(&mut text))?;
                    self.interrupt()?;
                }
                key => text.extend(keys::bytes(key)),
            }
        }
        self.write(&text)
    }

    /// Interrupts what the program and its children do, as Ctrl-C would. A session that is not there is no failure.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn interrupt(&self) -> io::Result<()> {
        match self.program() {
            Some(program) => program.signal_group(Signal::SIGINT).map(drop),
            None => Ok(()),
        }
    }

    fn write(&self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() || !self.is_alive()? {
            return Ok(());
        }
        let deadline = Instant::now() + LIMIT;
        let lock = self.input_lock(LIMIT)?;
        if lock.is_none() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "somebody else is typing into the session"));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match fifo::write_within(&self.file(INPUT), text, left) {
            // It has ended meanwhile.
            Err(_) if self.is_over()? => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::new(error.kind(), "the session has a terminal of its own to type into"))
            }
            done => done,
        }
    }
}
