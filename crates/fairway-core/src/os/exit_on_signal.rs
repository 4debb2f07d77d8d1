//! Exits with a planned exit code and message on a fatal signal, a fault or a timeout. For programs whose failure would
//! otherwise be taken for success.
//!
//! SIGKILL and SIGSTOP cannot be caught.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr};
use std::time::Duration;
use std::{io, thread};

use super::poll_until::sleep;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

/// How this process exits when a signal or a timeout ends it.
#[derive(Debug)]
pub struct ExitPlan {
    /// The exit code.
    pub code: i32,
    /// The message on a timeout; empty for none.
    pub on_timeout: &'static str,
    /// The message on a signal or a fault; empty for none.
    pub on_signal: &'static str,
}

/// The current plan; null before there is one.
static PLAN: AtomicPtr<ExitPlan> = AtomicPtr::new(null_mut());

/// The signals that end a process from inside or outside.
const SIGNALS: &[Signal] = &[
    Signal::SIGALRM,
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGABRT,
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGILL,
    Signal::SIGFPE,
    Signal::SIGSYS,
    Signal::SIGTRAP,
    Signal::SIGXCPU,
    Signal::SIGXFSZ,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
];

#[expect(unsafe_code, reason = "a handler may make two plain system calls, and nothing else")]
extern "C" fn exit_handler(signal: libc::c_int) {
    // SAFETY: only endings that live for ever are ever put there.
    let ending = unsafe { PLAN.load(SeqCst).as_ref() };
    let (code, words) = ending.map_or((2, ""), |ending| {
        (ending.code, if signal == libc::SIGALRM { ending.on_timeout } else { ending.on_signal })
    });
    // SAFETY: the bytes live for ever; a closed descriptor is an error without a reader; `_exit` runs nothing of ours.
    unsafe {
        libc::write(2, words.as_ptr().cast(), words.len());
        libc::_exit(code);
    }
}

/// Makes this process exit with the code and the message of `ending` on a fatal signal, a fault or a timeout. Signals that the
/// parent has blocked are unblocked.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn install(ending: &'static ExitPlan) -> io::Result<()> {
    replace(ending);
    // After a stack overflow the handler needs another stack.
    let action = SigAction::new(SigHandler::Handler(exit_handler), SaFlags::SA_ONSTACK, SigSet::empty());
    for signal in SIGNALS {
        // SAFETY: the handler makes two system calls and does not return.
        unsafe { sigaction(*signal, &action) }?;
    }
    SigSet::all().thread_unblock()?;
    Ok(())
}

/// The signals by which a person or the system ends a process.
const TERMINATION_SIGNALS: &[Signal] = &[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Whether a termination signal has arrived that [`delay_termination`] holds back.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Holds termination signals back: `wake` is called when one arrives, and it ends this process after `grace`, or at
/// [`end_if_asked`]. To be called before other threads are started.
pub fn delay_termination(grace: Duration, wake: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let signals: SigSet = TERMINATION_SIGNALS.iter().copied().collect();
    signals.thread_block()?;
    thread::Builder::new().spawn(move || {
        let Ok(signal) = signals.wait() else { return };
        IS_ENDING.store(true, SeqCst);
        wake();
        sleep(grace);
        let _ = signals.thread_unblock();
        let _ = raise(signal);
    })?;
    Ok(())
}

/// Whether a termination signal has arrived.
pub fn is_ending() -> bool {
    IS_ENDING.load(SeqCst)
}

/// Ends this process by its plan if a termination signal has arrived.
pub fn end_if_asked() {
    if is_ending() {
        exit_handler(libc::SIGTERM);
    }
}

/// The plan for the time of one call. Dropping it restores what these signals did before.
#[derive(Debug)]
pub struct TerminationPlan {
    before: Vec<(Signal, SigAction)>,
}

/// Makes this process exit with this code and message on INT, TERM, HUP or QUIT, until the returned value is dropped. Signals
/// that are ignored stay ignored.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn during_call(code: i32, on_signal: String) -> io::Result<TerminationPlan> {
    // A signal may arrive at any time until the process ends.
    replace(Box::leak(Box::new(ExitPlan { code, on_timeout: "", on_signal: Box::leak(on_signal.into_boxed_str()) })));
    let action = SigAction::new(SigHandler::Handler(exit_handler), SaFlags::SA_ONSTACK, SigSet::empty());
    let mut plan = TerminationPlan { before: Vec::new() };
    for signal in TERMINATION_SIGNALS {
        // SAFETY: the handler makes two system calls and does not return.
        let before = unsafe { sigaction(*signal, &action) }?;
        plan.before.push((*signal, before));
        if matches!(before.handler(), SigHandler::SigIgn) {
            // SAFETY: it was in force before.
            unsafe { sigaction(*signal, &before) }?;
        }
    }
    Ok(plan)
}

impl Drop for TerminationPlan {
    #[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: it was in force before.
            let _ = unsafe { sigaction(*signal, before) };
        }
    }
}

pub fn replace(ending: &'static ExitPlan) {
    PLAN.store(std::ptr::from_ref(ending).cast_mut(), SeqCst);
}

/// Sets a timer that sends SIGALRM to this process after this time. Replaces an earlier deadline.
#[expect(unsafe_code, reason = "setitimer has no safe form in the crates used here")]
pub fn set_deadline(limit: Duration) -> io::Result<()> {
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // A duration of zero would clear the timer.
    let limit = limit.max(Duration::from_millis(1));
    let once = libc::timeval {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_usec: i64::from(limit.subsec_micros()),
    };
    let timer = libc::itimerval { it_interval: none, it_value: once };
    // SAFETY: the value lives for the whole call, and the old one is not asked for.
    let done = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
