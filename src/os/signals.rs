//! Signals that are read instead of obeyed, by a program that has something to put right before it ends.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use nix::sys::{
    signal::{SigSet, SigmaskHow, Signal},
    signalfd::{SfdFlags, SignalFd},
};

/// Signals that are held back from this thread, and from those that it starts, until this is dropped. Programs that are
/// started meanwhile are not touched: the standard library gives them an empty mask.
#[derive(Debug)]
pub struct Held {
    signals: SignalFd,
    before: SigSet,
}

impl Held {
    /// Holds these back.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn hold(signals: &[Signal]) -> io::Result<Self> {
        let held: SigSet = signals.iter().copied().collect();
        let signals = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let before = held.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        Ok(Self { signals, before })
    }

    /// The next one that has come; `None` when none has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next(&self) -> io::Result<Option<Signal>> {
        let Some(found) = self.signals.read_signal()? else { return Ok(None) };
        let number = i32::try_from(found.ssi_signo).map_err(io::Error::other)?;
        Ok(Some(Signal::try_from(number)?))
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_signal_is_read_and_ends_nothing() {
        let held = Held::hold(&[Signal::SIGUSR1]).unwrap();
        assert_eq!(held.next().unwrap(), None);
        // To this thread alone: the other tests' threads do not hold it back.
        nix::sys::signal::raise(Signal::SIGUSR1).unwrap();
        assert_eq!(held.next().unwrap(), Some(Signal::SIGUSR1));
        assert_eq!(held.next().unwrap(), None);
    }
}
