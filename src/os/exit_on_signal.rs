//! An end that is said aloud: whatever stops this process – its own time limit, a signal, a fault of its own – it leaves with
//! the exit code and the words that were laid down before. For programs whose silence would be taken for a yes.
//!
//! Nothing can be said about SIGKILL and SIGSTOP.

use std::{
    io,
    ptr::null_mut,
    sync::atomic::{AtomicPtr, Ordering::SeqCst},
    time::Duration,
};

use nix::{
    libc,
    sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
};

/// How this process ends when something stops it.
#[derive(Debug)]
pub struct ExitPlan {
    /// Its exit code.
    pub code: i32,
    /// What it says when its time is over; nothing when this is empty.
    pub on_timeout: &'static str,
    /// What it says when a signal or a fault stops it; nothing when this is empty.
    pub on_signal: &'static str,
}

/// The ending in force; null before there is one.
static PLAN: AtomicPtr<ExitPlan> = AtomicPtr::new(null_mut());

/// What would end the process by itself, or comes from outside to end it.
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
    // SAFETY: the bytes live for ever; a closed descriptor is an error that nobody looks at; `_exit` runs nothing of ours.
    unsafe {
        libc::write(2, words.as_ptr().cast(), words.len());
        libc::_exit(code);
    }
}

/// From now on this process ends like this when it is stopped. Signals that whoever started us holds back come through.
///
/// # Errors
/// When the kernel refuses.
#[expect(unsafe_code, reason = "setting a signal handler has no safe form in the crates used here")]
pub fn install(ending: &'static ExitPlan) -> io::Result<()> {
    replace(ending);
    // A stack that overflowed has no room left for a handler.
    let action = SigAction::new(SigHandler::Handler(exit_handler), SaFlags::SA_ONSTACK, SigSet::empty());
    for signal in SIGNALS {
        // SAFETY: the handler makes two system calls and does not return.
        unsafe { sigaction(*signal, &action) }?;
    }
    SigSet::all().thread_unblock()?;
    Ok(())
}

/// Lays down another ending.
pub fn replace(ending: &'static ExitPlan) {
    PLAN.store(std::ptr::from_ref(ending).cast_mut(), SeqCst);
}

/// Ends this process so after this long from now; an earlier limit is forgotten.
///
/// # Errors
/// When the kernel refuses.
#[expect(unsafe_code, reason = "setitimer has no safe form in the crates used here")]
pub fn set_deadline(limit: Duration) -> io::Result<()> {
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // A span of zero would take the limit away.
    let limit = limit.max(Duration::from_millis(1));
    let once = libc::timeval {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: libc::suseconds_t::from(limit.subsec_micros()),
    };
    let timer = libc::itimerval { it_interval: none, it_value: once };
    // SAFETY: the value lives for the whole call, and the old one is not asked for.
    let done = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
