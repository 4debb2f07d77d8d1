//! The surroundings of a check: a private directory and unique session names. Everything is ended and removed afterwards.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;

use super::call_result::{CallResult, Deviation, ProbeResult};
use crate::adapters::Adapter;
use crate::env::{Clock, Env, Timestamp, vars};
use crate::os::exit_reason::ExitReason;
use crate::os::signals::SignalPipe;
use crate::os::{capture, executable, files, poll_until, process_tree};
use crate::wire::{ProbeOutcome, ProbeView};

/// The protocol's time limit for all operations other than `start`.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time of a `start`.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an expected effect may take to appear.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for an effect that has failed to appear before.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);
/// How often the directory of a check is removed.
const CLEANUP_TRIES: u8 = 3;
/// How long a `stop` may take while the suite cleans up.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_millis(500);
/// The environment variable by which the suite finds processes that a script did not end.
pub(super) const TAG_VAR: &str = "PROBE_MARK";
/// The program in the probed sessions: this executable under a unique name.
pub(super) const PROBE_PROGRAM: &str = "fw-probe";

/// The state of one check of a script.
#[derive(Debug)]
pub(super) struct Harness {
    pub adapter: Adapter,
    /// The beginning of all session names.
    pub name_prefix: String,
    clock: Clock,
    dir: PathBuf,
    signals: SignalPipe,
    interrupted_by: Cell<Option<Signal>>,
    wanted: BTreeSet<String>,
    unsupported: RefCell<BTreeSet<&'static str>>,
    /// Operations that did not answer in time; they are not called again.
    hung: RefCell<BTreeSet<String>>,
    /// Operations whose expected effect did not appear.
    missed: RefCell<BTreeSet<&'static str>>,
    started: RefCell<BTreeSet<String>>,
    probes: RefCell<Vec<(&'static str, ProbeView)>>,
}

impl Harness {
    /// Creates the directory of the check. `wanted` has the operations to check; when it is empty, all are checked. From now on
    /// this process catches SIGINT, SIGTERM and SIGHUP, so that an interrupted check still stops its sessions.
    pub fn new(env: &Env, script: &Path, wanted: &[String]) -> Result<Self> {
        let signals = SignalPipe::install(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
        let above = env.cwd.join(env.var_os(vars::TMPDIR).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from));
        let (base, directory) =
            create_temp_dir(env, &above).with_context(|| format!("cannot make a directory in {}", above.display()))?;
        let made = || -> io::Result<Adapter> {
            for name in ["state", "bin", "p", "w"] {
                files::private_dir(&directory.join(name))?;
            }
            symlink(executable::current_executable()?, directory.join("bin").join(PROBE_PROGRAM))?;
            Adapter::new(script, &directory.join("state"), &directory, env)
        };
        let adapter = made().inspect_err(|_| drop(fs::remove_dir_all(&directory)))?;
        Ok(Self {
            adapter,
            name_prefix: base,
            clock: env.clock,
            dir: directory,
            signals,
            interrupted_by: Cell::new(None),
            wanted: wanted.iter().cloned().collect(),
            unsupported: RefCell::default(),
            hung: RefCell::default(),
            missed: RefCell::default(),
            started: RefCell::default(),
            probes: RefCell::default(),
        })
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The temporary directory of the check, which has the files of all its sessions.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The environment entry (`NAME=value`) that marks every process of the check's sessions, so that it can be found.
    pub fn env_tag(&self) -> String {
        format!("{TAG_VAR}={}", self.dir.display())
    }

    /// The signal that has interrupted the check; `None` when no signal has arrived so far.
    pub fn interrupted_by(&self) -> Option<Signal> {
        if self.interrupted_by.get().is_none() {
            self.interrupted_by.set(self.signals.next().ok().flatten());
        }
        self.interrupted_by.get()
    }

    /// Whether the user asked for a check of this operation, or for all of them.
    pub fn wants(&self, operation: &str) -> bool {
        self.wanted.is_empty() || self.wanted.contains(operation)
    }

    /// Whether one of these operations is to be checked and is supported.
    pub fn should_probe(&self, operations: &[&str]) -> bool {
        operations.iter().any(|one| self.wants(one) && self.supports(one))
    }

    /// Whether the script supports the operation; `true` as long as the opposite is not known.
    pub fn supports(&self, operation: &str) -> bool {
        !self.unsupported.borrow().contains(operation)
    }

    /// Notes that the script does not support the operation, so that it is not probed.
    pub fn mark_unsupported(&self, operation: &'static str) {
        self.unsupported.borrow_mut().insert(operation);
    }

    /// Runs a probe and stores its result. Does nothing when the operation is not to be checked, is unsupported, or a signal has
    /// interrupted the check.
    pub fn probe(&self, operation: &'static str, what: &'static str, look: impl FnOnce() -> ProbeResult) {
        if !self.should_probe(&[operation]) || self.interrupted_by().is_some() {
            return;
        }
        let begun = Instant::now();
        let (verdict, expected, seen) = match look() {
            Ok(()) => (ProbeOutcome::Pass, None, None),
            Err(Deviation::Differs { expected, seen }) => (ProbeOutcome::Fail, Some(expected), Some(seen)),
            Err(Deviation::Unsupported) => (ProbeOutcome::NotSupported, None, None),
            Err(Deviation::Interrupted) => return,
        };
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.probes.borrow_mut().push((operation, ProbeView { what, verdict, expected, seen, duration_ms }));
    }

    pub fn results_of(&self, operation: &str) -> Vec<ProbeView> {
        self.probes.borrow().iter().filter(|(of, _)| *of == operation).map(|(_, probe)| probe.clone()).collect()
    }

    /// Calls the script. It is a deviation when the script is known not to support the operation, when an earlier call of the
    /// operation has timed out, when this call times out, or when a signal has interrupted the check.
    pub fn call(&self, args: &[&str], stdin: &[u8]) -> Result<CallResult, Deviation> {
        self.call_with(&self.adapter, args, stdin)
    }

    /// Like [`call`](Self::call), but with the environment of `adapter`.
    pub fn call_with(&self, adapter: &Adapter, args: &[&str], stdin: &[u8]) -> Result<CallResult, Deviation> {
        let operation = args.first().copied().unwrap_or_default();
        if self.interrupted_by().is_some() {
            return Err(Deviation::Interrupted);
        }
        if !self.supports(operation) {
            return Err(Deviation::Unsupported);
        }
        if self.hung.borrow().contains(operation) {
            return Err(Deviation::differs(format!("an answer to {operation}"), "none before; it was not asked again"));
        }
        self.note_started(args);
        let limit = if operation == "start" { START_TIMEOUT } else { CALL_TIMEOUT };
        let begun = Instant::now();
        let done = adapter.call_raw(args, stdin, limit);
        let said = CallResult::of(done, begun.elapsed())?;
        if said.end == ExitReason::TimedOut {
            self.hung.borrow_mut().insert(operation.to_owned());
            let expected = format!("an answer to {operation} within {} s", limit.as_secs());
            return Err(Deviation::differs(expected, "none; it was ended"));
        }
        Ok(said)
    }

    /// Calls the script and waits until every process has closed the stdout and stderr of the call, as callers do that read the
    /// output to its end. A process that keeps them open longer than `limit` is a deviation.
    pub fn call_until_eof(&self, args: &[&str], stdin: &[u8], limit: Duration) -> Result<CallResult, Deviation> {
        self.note_started(args);
        let begun = Instant::now();
        let said = CallResult::of(self.adapter.call_until_eof(args, stdin, limit), begun.elapsed())?;
        if said.end == ExitReason::TimedOut {
            let expected = format!("{} closes its stdout and stderr", args.first().copied().unwrap_or_default());
            return Err(Deviation::differs(expected, format!("a process holds them open after {} s", limit.as_secs())));
        }
        Ok(said)
    }

    /// Remembers the session of a `start` call, so that it is stopped at the end of the check.
    pub fn note_started(&self, args: &[&str]) {
        if let ["start", name, ..] = args {
            self.started.borrow_mut().insert((*name).to_owned());
        }
    }

    /// Calls `ask` until it returns a value, which shows that the effect of `operation` has happened. When it returns none in
    /// time, the deviation says that `what` was expected and that `seen` is the actual state. After one such failure, later waits
    /// for the same operation are shorter.
    pub fn wait_for<T>(
        &self,
        operation: &'static str,
        what: &str,
        mut ask: impl FnMut() -> Option<T>,
        seen: impl FnOnce() -> String,
    ) -> Result<T, Deviation> {
        let timeout = if self.missed.borrow().contains(operation) { SHORT_TIMEOUT } else { EFFECT_TIMEOUT };
        let answer = poll_until::poll_until(timeout, Duration::from_millis(20), || match self.interrupted_by() {
            Some(_) => Some(Err(Deviation::Interrupted)),
            None => ask().map(Ok),
        });
        answer.unwrap_or_else(|| {
            self.missed.borrow_mut().insert(operation);
            Err(Deviation::differs(what, seen()))
        })
    }

    /// Stops every session, kills the processes that remain, and removes the directory.
    fn clean_up(&self) {
        for name in self.started.borrow().iter() {
            if !self.hung.borrow().contains("stop") {
                let done = self.adapter.call_raw(&["stop", name], b"", CLEANUP_TIMEOUT);
                if matches!(done, Ok(capture::Captured { exit: ExitReason::TimedOut, .. })) {
                    self.hung.borrow_mut().insert("stop".to_owned());
                }
            }
        }
        let mark = self.env_tag();
        let place = self.dir.display().to_string();
        // A process that begins another program has neither for a moment, and may write into the directory while it is removed.
        for _ in 0..CLEANUP_TRIES {
            let _ = process_tree::terminate(GRACE, || process_tree::with_env_entry(&mark));
            // A multiplexer's server has the path of its socket in its command line.
            let _ = process_tree::terminate(GRACE, || process_tree::with_command_line_text(&place));
            let _ = fs::remove_dir_all(&self.dir);
            if !self.dir.exists() {
                break;
            }
        }
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.clean_up();
    }
}

/// Creates a new directory and returns it with the prefix of all session names.
fn create_temp_dir(env: &Env, above: &Path) -> io::Result<(String, PathBuf)> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let suffix = env.ids.random_suffix();
        let directory = above.join(format!("fairway-check-{suffix}"));
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok((format!("fw{suffix}"), directory)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("every name that was tried is taken"))
}
