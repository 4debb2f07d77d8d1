//! Time limits for work that has none: blocking system calls, and the parsing of untrusted text.

use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};
use std::{io, mem, thread};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigEvent, SigHandler, SigSet, Signal, sigaction};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use nix::unistd::gettid;

/// Ignored where it has no handler: a late signal does no harm.
const INTERRUPT_SIGNAL: Signal = Signal::SIGURG;

/// The interval at which the thread is interrupted again: at the first signal it may not have entered the call yet.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(50);

/// Repeats a call that may block, until it ends without being interrupted by a signal; `None` when the limit is over first. A
/// timer sends the interrupts, to the calling thread alone.
pub fn with_timeout<T>(limit: Duration, mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<Option<T>> {
    install_handler()?;
    let deadline = Instant::now() + limit;
    let mut timer = Timer::new(ClockId::CLOCK_MONOTONIC, signal_to_this_thread())?;
    // A duration of zero would disarm the timer.
    let first = TimeSpec::from_duration(limit.max(Duration::from_millis(1)));
    let expiration = Expiration::IntervalDelayed(first, TimeSpec::from_duration(INTERRUPT_INTERVAL));
    timer.set(expiration, TimerSetTimeFlags::empty())?;
    loop {
        match call() {
            Err(Errno::EINTR) if Instant::now() >= deadline => return Ok(None),
            Err(Errno::EINTR) => {}
            done => return Ok(Some(done?)),
        }
    }
}

#[expect(unsafe_code, reason = "nix has this form of notification for one C library only")]
fn signal_to_this_thread() -> SigEvent {
    // SAFETY: zero is a value of each of its fields.
    let mut event: libc::sigevent = unsafe { mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = INTERRUPT_SIGNAL as libc::c_int;
    event.sigev_notify_thread_id = gettid().as_raw();
    SigEvent::from(&event)
}

extern "C" fn no_op_handler(_: libc::c_int) {}

/// Makes the signal interrupt a call instead of being ignored.
#[expect(unsafe_code, reason = "the only way to install a handler; it does nothing, so it is safe in every thread")]
fn install_handler() -> io::Result<()> {
    static HANDLED: OnceLock<Result<(), Errno>> = OnceLock::new();
    let done = HANDLED.get_or_init(|| {
        let action = SigAction::new(SigHandler::Handler(no_op_handler), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler touches nothing.
        unsafe { sigaction(INTERRUPT_SIGNAL, &action) }.map(drop)
    });
    (*done)?;
    // The parent may have blocked the signal.
    SigSet::from(INTERRUPT_SIGNAL).thread_unblock()?;
    Ok(())
}

/// Runs `work` in a thread with a stack of `stack` bytes. `None` when it panics, takes longer than `limit`, or the thread
/// cannot be created. Work that takes too long goes on in its thread.
pub fn run_on_big_stack<T: Send + 'static>(
    stack: usize,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, wait) = mpsc::sync_channel(1);
    let started = thread::Builder::new().name("deep".to_owned()).stack_size(stack).spawn(move || {
        let _ = done.send(work());
    });
    started.ok()?;
    wait.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn call_that_blocks_for_ever_ends_at_the_limit_and_a_quick_one_at_once() {
        let (mut reader, _writer) = io::pipe().unwrap();
        let mut read = || reader.read(&mut [0; 1]).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap()));
        let start = Instant::now();
        assert_eq!(with_timeout(Duration::from_millis(30), &mut read).unwrap(), None);
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(with_timeout(Duration::from_secs(60), || Ok(7)).unwrap(), Some(7));
    }

    #[test]
    fn panic_or_long_wait_gives_no_answer() {
        let second = Duration::from_secs(5);
        assert_eq!(run_on_big_stack(1 << 20, second, || 7), Some(7));
        assert_eq!(run_on_big_stack(1 << 20, second, || -> u8 { std::panic::resume_unwind(Box::new("no")) }), None);
        let (hold, held) = mpsc::channel::<()>();
        assert_eq!(run_on_big_stack(1 << 20, Duration::from_millis(1), move || held.recv().is_ok()), None);
        drop(hold);
    }
}
