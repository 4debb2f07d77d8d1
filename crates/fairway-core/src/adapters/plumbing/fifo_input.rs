//! Typing into a session without a terminal, whose program reads from a FIFO, and interrupting it.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::SessionDir;
use super::session_dir::INPUT_FIFO;
use crate::domain::terminal_keys;
use crate::os::fifo;

/// How long writing a text may take, the wait for other writers included.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

impl SessionDir {
    /// Writes a text and a newline to the program's input. A session that does not exist is no error.
    ///
    /// # Errors
    /// When the program does not read the text in time, or another process keeps typing into the session for too long.
    pub fn send_line(&self, text: &[u8]) -> io::Result<()> {
        self.write_input(&[text, b"\n"].concat())
    }

    /// Sends keys to the program. `Enter` becomes a newline and `C-c` an interrupt, as a terminal would translate them. A session
    /// that does not exist is no error.
    ///
    /// # Errors
    /// When the program does not read the keys in time, or another process keeps typing into the session for too long.
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

    /// Sends SIGINT to the program and its process group, as Ctrl-C would. A session that does not exist is no error.
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
