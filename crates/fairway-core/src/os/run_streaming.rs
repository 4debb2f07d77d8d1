//! Runs a program to its end and streams its output. It runs in its own process group without stdin. Signals are forwarded to
//! it, and no process that it started survives.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
use nix::unistd::Pid;
use thiserror::Error;

use super::command::command_of_argv;
use super::exit_reason::ExitReason;
use super::poll::poll;
use super::{process, process_tree, signals};

/// How long a program may take to end after a signal.
const GRACE: Duration = Duration::from_secs(2);
/// How long its last output may take after its end.
const DRAIN: Duration = Duration::from_secs(2);

/// A stream of the program, stdout or stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// A program to run, with this process's environment and more variables.
#[derive(Debug, Clone)]
pub struct StreamedProgram<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    pub env: &'a [(String, String)],
    pub dir: &'a Path,
    /// The time after which the program is ended.
    pub timeout: Option<Duration>,
    /// Whether every process below this one belongs to the program, and ends with it. False where this process has started other
    /// programs, which go on; the program then ends its own processes.
    pub is_alone: bool,
    /// Whether both streams share one pipe, which keeps the order of the output; all of it is then of [`Stream::Out`].
    pub merge_output: bool,
}

/// The result of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamResult {
    pub exit: ExitReason,
    pub elapsed: Duration,
    /// Whether the program left processes behind, which were ended.
    pub left_processes: bool,
}

/// Why a program did not run to its end.
#[derive(Debug, Error)]
pub enum StreamError {
    #[error("the program '{program}' was not found; nothing was run and nothing recorded")]
    NotFound { program: String },
    #[error("the directory {} is not there; nothing was run and nothing recorded", .dir.display())]
    NoDir { dir: PathBuf },
    #[error("the program '{program}' cannot be started: {source}")]
    Start { program: String, source: io::Error },
    /// This process got a signal and ended the program.
    #[error("interrupted by {signal}; the program was ended and nothing recorded")]
    Interrupted { signal: Signal },
    #[error("the program cannot be watched: {0}")]
    Watch(io::Error),
}

impl StreamError {
    /// Whether it is certain that the program was not started.
    pub const fn is_not_started(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::NoDir { .. } | Self::Start { .. })
    }
}

fn watch_error(error: impl Into<io::Error>) -> StreamError {
    StreamError::Watch(error.into())
}

/// Runs a program to its end and passes its output to `see` at once, from other threads.
///
/// # Errors
/// When it cannot be started, or this process gets INT, TERM or HUP before its end.
pub fn run(
    program: &StreamedProgram<'_>,
    see: impl Fn(Stream, &[u8]) + Send + Sync + 'static,
) -> Result<StreamResult, StreamError> {
    let stops: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD].into_iter().collect();
    // Threads inherit the mask; it is cleared for the program.
    let before = stops.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(watch_error)?;
    let ran = run_watched(program, Arc::new(see), &stops);
    let _ = before.thread_set_mask();
    ran
}

fn run_watched(
    program: &StreamedProgram<'_>,
    see: Arc<impl Fn(Stream, &[u8]) + Send + Sync + 'static>,
    stops: &SigSet,
) -> Result<StreamResult, StreamError> {
    let signals = SignalFd::with_flags(stops, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(watch_error)?;
    if program.is_alone {
        // Orphans become children of this process, so that every process of the program is found below it.
        prctl::set_child_subreaper(true).map_err(watch_error)?;
    }
    let begun = Instant::now();
    let (mut child, both) = spawn(program)?;
    let guard = program.is_alone.then(|| KillOnDrop);
    let root = i32::try_from(child.id()).map_err(io::Error::other).map_err(watch_error)?;
    let signals = Signals { descriptor: signals, root, reaps_orphans: program.is_alone };
    let (done, working) = UnixStream::pair().map_err(watch_error)?;
    spawn_reader(both, Stream::Out, Arc::clone(&see), working.try_clone().map_err(watch_error)?)?;
    spawn_reader(child.stdout.take(), Stream::Out, Arc::clone(&see), working.try_clone().map_err(watch_error)?)?;
    spawn_reader(child.stderr.take(), Stream::Err, see, working)?;

    let ended = process::pidfd(root).map_err(watch_error)?;
    let limit = program.timeout.map(|timeout| begun + timeout);
    let event = match &ended {
        Some(ended) => wait(&signals, ended.as_fd(), limit).map_err(watch_error)?,
        None => WaitOutcome::Ready,
    };
    match event {
        WaitOutcome::Ready => {}
        WaitOutcome::TimedOut => stop(&signals, root, Signal::SIGTERM, ended.as_ref().map(AsFd::as_fd)),
        WaitOutcome::Stop(signal) => stop(&signals, root, signal, ended.as_ref().map(AsFd::as_fd)),
    }
    let took = begun.elapsed();
    if event != WaitOutcome::Ready {
        let below = || if program.is_alone { own_descendants() } else { process_tree::subtree(root, None) };
        process_tree::terminate(Duration::ZERO, below).map_err(watch_error)?;
    }
    let status = child.wait().map_err(watch_error)?;
    // A pipe that a child still reads may hold the last words: let it finish them.
    let drained = wait(&signals, done.as_fd(), Some(Instant::now() + DRAIN)).map_err(watch_error)?;
    // The pid of a program that was waited for may be another one's by now.
    let left = if program.is_alone { own_descendants().map_err(watch_error)? } else { Vec::new() };
    if !left.is_empty() {
        process_tree::terminate(GRACE, own_descendants).map_err(watch_error)?;
    }
    drop(guard);
    let stopped = match (event, drained) {
        (WaitOutcome::Stop(signal), _) | (_, WaitOutcome::Stop(signal)) => Some(signal),
        // No process writes any more; the reader of this output may be slow.
        (WaitOutcome::Ready, WaitOutcome::TimedOut) => match wait(&signals, done.as_fd(), None).map_err(watch_error)? {
            WaitOutcome::Stop(signal) => Some(signal),
            _ => None,
        },
        _ => None,
    };
    if let Some(signal) = stopped {
        return Err(StreamError::Interrupted { signal });
    }
    let exit = if event == WaitOutcome::TimedOut { ExitReason::TimedOut } else { status.into() };
    Ok(StreamResult { exit, elapsed: took, left_processes: event == WaitOutcome::Ready && !left.is_empty() })
}

/// Ends all descendants when it is dropped on an error path.
struct KillOnDrop;

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if own_descendants().is_ok_and(|left| !left.is_empty()) {
            let _ = process_tree::terminate(GRACE, own_descendants);
        }
    }
}

fn own_descendants() -> io::Result<Vec<process::ProcessKey>> {
    process_tree::subtree(i32::try_from(std::process::id()).map_err(io::Error::other)?, None)
}

fn spawn(program: &StreamedProgram<'_>) -> Result<(Child, Option<PipeReader>), StreamError> {
    let name = program.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !program.dir.is_dir() {
        return Err(StreamError::NoDir { dir: program.dir.to_path_buf() });
    }
    let mut command =
        command_of_argv(program.argv).map_err(|source| StreamError::Start { program: name.clone(), source })?;
    signals::with_empty_mask(&mut command)
        .current_dir(program.dir)
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let both = if program.merge_output {
        let (both, end) = io::pipe().map_err(watch_error)?;
        command.stdout(end.try_clone().map_err(watch_error)?).stderr(end);
        Some(both)
    } else {
        None
    };
    let child = command.spawn().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StreamError::NotFound { program: name },
        _ => StreamError::Start { program: name, source },
    })?;
    // Dropping the command closes this process's ends of the pipe.
    Ok((child, both))
}

fn spawn_reader(
    pipe: Option<impl Read + Send + 'static>,
    stream: Stream,
    see: Arc<impl Fn(Stream, &[u8]) + Send + Sync + 'static>,
    working: UnixStream,
) -> Result<(), StreamError> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let reader = move || {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            match pipe.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => see(stream, bytes.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // When both ends are dropped, the other side of the pair becomes readable.
        drop(working);
    };
    std::thread::Builder::new().name("stream".into()).spawn(reader).map_err(watch_error)?;
    Ok(())
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitOutcome {
    /// The descriptor became readable.
    Ready,
    TimedOut,
    /// A signal asks this process to end.
    Stop(Signal),
}

/// The signals of this process while the program runs.
struct Signals {
    descriptor: SignalFd,
    root: i32,
    reaps_orphans: bool,
}

impl Signals {
    /// The next signal that asks this process to end, if any. On SIGCHLD it reaps orphans.
    fn next_stop_signal(&self) -> io::Result<Option<Signal>> {
        while let Some(received) = self.descriptor.read_signal()? {
            let signal = i32::try_from(received.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok());
            match signal {
                Some(Signal::SIGCHLD) if !self.reaps_orphans => {}
                Some(Signal::SIGCHLD) => self.reap_orphans(),
                signal => return Ok(Some(signal.unwrap_or(Signal::SIGTERM))),
            }
        }
        Ok(None)
    }

    fn reap_orphans(&self) {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        // The program itself is waited for elsewhere; if it is reaped here, the run is over anyway.
        while let Ok(Some(ended)) = waitid(Id::All, look).map(|status| status.pid()) {
            if ended.as_raw() == self.root || waitpid(ended, Some(WaitPidFlag::WNOHANG)).is_err() {
                break;
            }
        }
    }
}

fn wait(signals: &Signals, ready: BorrowedFd<'_>, limit: Option<Instant>) -> io::Result<WaitOutcome> {
    loop {
        let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        let mut watched =
            [PollFd::new(signals.descriptor.as_fd(), PollFlags::POLLIN), PollFd::new(ready, PollFlags::POLLIN)];
        poll(&mut watched, left)?;
        let happened = |at: usize| watched.get(at).and_then(PollFd::any).unwrap_or(false);
        if happened(0)
            && let Some(signal) = signals.next_stop_signal()?
        {
            return Ok(WaitOutcome::Stop(signal));
        }
        if happened(1) {
            return Ok(WaitOutcome::Ready);
        }
        if limit.is_some_and(|limit| limit <= Instant::now()) {
            return Ok(WaitOutcome::TimedOut);
        }
    }
}

/// Forwards a signal to the program's group and gives it time; a second signal shortens that.
fn stop(signals: &Signals, root: i32, signal: Signal, ended: Option<BorrowedFd<'_>>) {
    // The program is not reaped yet, so its pid and group id are not reused.
    let _ = killpg(Pid::from_raw(root), signal);
    if let Some(ended) = ended {
        let _ = wait(signals, ended, Some(Instant::now() + GRACE));
    }
}
