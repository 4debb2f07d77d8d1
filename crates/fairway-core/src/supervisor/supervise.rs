//! The supervisor's event loop, from the start of a job to its result: it reports events to the state machine and carries
//! out the machine's effects. It has one thread, which blocks in `poll` while nothing happens.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::Signal;
use serde_json::json;

use super::JobDir;
use super::child::{Child, ChildSpec};
use super::control_socket::{ControlSocket, Reply, Request};
use super::host::{JobHost, SuperviseError};
use super::input_queue::InputQueue;
use super::journal::{Journal, StartJournal};
use super::state_machine::{Effect, Event, Exit, StateMachine};
use crate::domain::job::{JobResult, JobStatus, TerminalSize};
use crate::domain::secrets;
use crate::os::held_process::ReleaseState;
use crate::os::poll::poll;
use crate::os::process::{self, ProcessKey};
use crate::os::process_tree;
use crate::os::request_socket::Incoming;
use crate::os::session_leader::{self, ChildExit};
use crate::os::signals::{self, SignalPipe};

/// How many processes a leftovers or survivors event names at most.
const MAX_NAMED_PROCESSES: usize = 16;

/// A job to supervise.
pub struct JobSpec<'a> {
    /// The job's directory; this process has its lock.
    pub job_dir: &'a JobDir,
    pub argv: &'a [OsString],
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The environment tag (`NAME=value`) that only this job's processes have. A process with another value of that name
    /// belongs to another job.
    pub env_tag: &'a str,
    pub cwd: &'a Path,
    /// The program's stdin; without it, stdin is empty.
    pub stdin: Option<Vec<u8>>,
    /// The size of the terminal, when the program gets one.
    pub pty: Option<TerminalSize>,
    /// Ends when the program may run, for a job that waits for its turn.
    pub turn: Option<File>,
    /// The time after which the job is ended, from the start of its program.
    pub timeout: Option<Duration>,
    /// Makes the deduplication key of a notification from the key that a watcher gives.
    pub notification_key: &'a dyn Fn(&str) -> String,
}

/// Starts a job's program and supervises it until it has ended and the result is recorded. When the program cannot be started,
/// the result says why.
///
/// # Errors
/// When the start or the result cannot be recorded. A program whose start cannot be recorded is not started.
pub fn supervise<'a>(spec: JobSpec<'a>, sink: &'a mut dyn JobHost) -> Result<(), SuperviseError> {
    signals::ignore_sigxfsz();
    let signals = SignalPipe::install(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD])?;
    let JobSpec { job_dir: dir, argv, env, cwd, stdin, pty, .. } = spec;
    let mut start = StartJournal::new(dir, signals, sink);
    let unstarted = |journal: StartJournal<'a>, result: JobResult| {
        journal.into_journal(spec.notification_key).record_unstarted(&result)
    };
    let mut control = match session_leader::become_subreaper().and_then(|()| ControlSocket::open(dir)) {
        Ok(control) => control,
        Err(error) => return unstarted(start, failed_result(format!("it cannot be supervised: {error}"))),
    };
    if let Some(turn) = &spec.turn
        && let Some((why, kill_requests)) = wait_for_turn(turn, &start, &mut control)?
    {
        let why = format!("{why} before the program was started");
        unstarted(start, JobResult { status: JobStatus::Canceled, ..failed_result(why) })?;
        answer_ended(control, kill_requests);
        return Ok(());
    }
    let mut child = match Child::start(ChildSpec { argv, env, cwd, stdin, pty }) {
        Ok(child) => child,
        Err(_) if !cwd.is_dir() => {
            return unstarted(start, failed_result(format!("the directory {} does not exist", cwd.display())));
        }
        Err(error) => return unstarted(start, failed_result(format!("it cannot be started: {error}"))),
    };
    // A held process that is dropped before its release exits without running the program.
    let key = child.held.key().clone();
    start.record_started(&key)?;
    if let Some(signal) = start.termination_signal()? {
        drop(child);
        let why = format!("its supervisor was ended by {signal} before the program was started");
        return unstarted(start, JobResult { status: JobStatus::Canceled, ..failed_result(why) });
    }
    if let Err(error) = dir.mark_started().and_then(|()| child.held.release()) {
        drop(child);
        return unstarted(start, failed_result(format!("it could not be started: {error}")));
    }
    let mut running = SupervisorLoop {
        root: key.pid,
        env_tag: spec.env_tag,
        program: argv.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default(),
        started: Instant::now(),
        machine: StateMachine::new(spec.timeout),
        child,
        control,
        input_queue: InputQueue::default(),
        kill_requests: Vec::new(),
        is_exec_decided: false,
        exec_error: None,
        exited: None,
        is_output_closed: false,
        sent: None,
        result: None,
        journal: start.into_journal(spec.notification_key),
    };
    let result = running.run_to_end().unwrap_or_else(|error| {
        // Without a supervisor the job must not continue.
        let _ = process_tree::terminate(Duration::ZERO, || Ok(running.live_processes()));
        failed_result(format!("supervision failed and the job was ended: {error}"))
    });
    let SupervisorLoop { mut journal, control, kill_requests, child, .. } = running;
    // Closes the terminal and the pipes: a process that still has them open is not part of the job.
    drop(child);
    journal.record_finished(&result)?;
    // Replies come last: a caller that gets one finds no process of the job.
    answer_ended(control, kill_requests);
    Ok(())
}

fn answer_ended(mut control: ControlSocket, kill_requests: Vec<u64>) {
    control.stop_accepting();
    for id in kill_requests {
        control.reply(id, &Reply::Ended);
    }
}

/// Waits until the program may run. Returns why the job is ended before, with those who asked for that.
fn wait_for_turn(
    turn: &File,
    start: &StartJournal<'_>,
    control: &mut ControlSocket,
) -> io::Result<Option<(String, Vec<u64>)>> {
    loop {
        let mut watched = vec![PollFd::new(start.signals.as_fd(), PollFlags::POLLIN)];
        watched.push(PollFd::new(turn.as_fd(), PollFlags::POLLIN));
        watched.extend(control.poll_fds());
        poll(&mut watched, None)?;
        let is_over = watched.get(1).and_then(PollFd::any).unwrap_or(true);
        drop(watched);
        if let Some(signal) = start.termination_signal()? {
            return Ok(Some((format!("its supervisor was ended by {signal}"), Vec::new())));
        }
        let mut kill_requests = Vec::new();
        for incoming in control.poll() {
            match incoming {
                Incoming::Request(id, Request::Kill { .. }) => kill_requests.push(id),
                Incoming::Request(id, Request::Input(_)) => control.reply(id, &Reply::InputFull(0)),
                Incoming::Closed(_) => {}
            }
        }
        if !kill_requests.is_empty() {
            return Ok(Some(("it was killed on request".to_owned(), kill_requests)));
        }
        if is_over {
            return Ok(None);
        }
    }
}

fn failed_result(why: String) -> JobResult {
    JobResult { status: JobStatus::Failed, exit_code: None, signal: None, error_message: Some(secrets::mask(&why)) }
}

/// A job whose program was started.
struct SupervisorLoop<'a> {
    root: i32,
    env_tag: &'a str,
    program: String,
    started: Instant,
    machine: StateMachine,
    child: Child,
    control: ControlSocket,
    input_queue: InputQueue,
    /// The kill requests that get a reply at the end.
    kill_requests: Vec<u64>,
    /// Whether the result of the exec is known.
    is_exec_decided: bool,
    exec_error: Option<String>,
    /// The exit of the reaped program, until the machine gets it.
    exited: Option<Exit>,
    is_output_closed: bool,
    result: Option<JobResult>,
    /// The last signal to all processes, and those that got it.
    sent: Option<(Signal, Vec<ProcessKey>)>,
    journal: Journal<'a>,
}

impl SupervisorLoop<'_> {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Handles events until the job has ended and its output is read.
    fn run_to_end(&mut self) -> io::Result<JobResult> {
        // Reads that empty a full pipe which has no writer any more.
        const FINAL_READS: u8 = 4;
        loop {
            if let Some(result) = self.result.take() {
                for _ in 0..FINAL_READS {
                    if self.read() == 0 {
                        break;
                    }
                }
                return Ok(result);
            }
            self.wait()?;
            self.process_ready()?;
        }
    }

    fn wait(&self) -> io::Result<()> {
        let journal = self.journal.due().map(|due| due.saturating_sub(self.journal.now()));
        let own = [self.machine.due(), self.input_queue.due()].into_iter().flatten().min();
        let left = own.map(|due| due.saturating_sub(self.now())).into_iter().chain(journal).min();
        let mut watched = vec![PollFd::new(self.journal.start.signals.as_fd(), PollFlags::POLLIN)];
        if !self.is_exec_decided {
            watched.push(PollFd::new(self.child.held.as_fd(), PollFlags::POLLIN));
        }
        watched.extend(self.child.output_pipes().map(|pipe| PollFd::new(pipe, PollFlags::POLLIN)));
        if let Some(terminal) = self.child.terminal() {
            let wanted = if self.input_queue.is_busy() { PollFlags::POLLOUT } else { PollFlags::empty() };
            watched.push(PollFd::new(terminal.as_fd(), PollFlags::POLLIN | wanted));
        }
        watched.extend(self.child.stdin_pipe().map(|pipe| PollFd::new(pipe, PollFlags::POLLOUT)));
        watched.extend(self.control.poll_fds());
        poll(&mut watched, left)
    }

    fn process_ready(&mut self) -> io::Result<()> {
        let mut has_died = false;
        while let Some(signal) = self.journal.start.signals.next()? {
            if signal == Signal::SIGCHLD {
                has_died = true;
            } else {
                self.handle(Event::Terminate(signal));
            }
        }
        self.check_exec();
        self.handle_requests();
        self.read();
        self.child.write_stdin();
        for (id, reply) in self.input_queue.write_pending(self.child.terminal_mut(), self.started.elapsed()) {
            self.control.reply(id, &reply);
        }
        if self.child.is_output_closed() && !self.is_output_closed {
            self.is_output_closed = true;
            self.handle(Event::OutputClosed);
        }
        if has_died {
            self.reap();
        }
        if let Some(exit) = self.exited.take() {
            self.handle(Event::Exited(exit));
        }
        if has_died || self.machine.due().is_some_and(|due| due <= self.now()) {
            self.handle(Event::Tick);
        }
        self.journal.tick();
        Ok(())
    }

    fn handle_requests(&mut self) {
        for incoming in self.control.poll() {
            match incoming {
                Incoming::Request(id, Request::Kill { signal, grace }) => {
                    self.kill_requests.push(id);
                    self.handle(Event::Kill { signal, grace });
                }
                Incoming::Request(id, Request::Input(inputs)) => {
                    match (self.child.had_terminal(), self.child.terminal()) {
                        (false, _) => self.control.reply(id, &Reply::NoTerminal),
                        (true, None) => self.control.reply(id, &Reply::EndedMeanwhile(0)),
                        (true, Some(_)) => self.input_queue.add(id, inputs),
                    }
                }
                Incoming::Closed(id) => {
                    self.kill_requests.retain(|killer| *killer != id);
                    self.input_queue.cancel(id);
                }
            }
        }
    }

    fn read(&mut self) -> usize {
        let Self { child, journal, input_queue, .. } = self;
        let has_terminal = child.had_terminal();
        child.read(&mut |stream, bytes| {
            if has_terminal {
                input_queue.modes.update(bytes);
            }
            journal.record_output(stream, bytes);
        })
    }

    /// Passes an event to the state machine and carries out the effects.
    fn handle(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let (machine, effects) = self.machine.clone().step(event, self.now());
            self.machine = machine;
            for effect in effects {
                match effect {
                    Effect::WriteResult(result) => {
                        // For recovery, in case this supervisor dies before the store has the result.
                        let _ = self.journal.start.job_dir.write_result(&result);
                    }
                    Effect::ScanTree => {
                        let live = if self.reap() { self.live_processes() } else { Vec::new() };
                        self.signal_missed_orphans(&live);
                        let is_left = !live.is_empty();
                        events.extend(self.exited.take().map(Event::Exited));
                        events.push_back(Event::TreeScanned { is_left });
                    }
                    Effect::ReportLeftovers => {
                        self.report_processes("leftovers", "left behind by the program, and ended");
                    }
                    Effect::ReportSurvivors => self.report_processes("survivors", "could not be ended"),
                    Effect::Signal(signal) => self.signal_all(signal),
                    Effect::Finish(result) => self.result = Some(result),
                }
            }
        }
    }

    /// Reads the result of the exec. Must run before the child is reaped: the exec error explains its exit code.
    fn check_exec(&mut self) {
        if self.is_exec_decided {
            return;
        }
        match self.child.held.poll_state() {
            ReleaseState::Pending => {}
            ReleaseState::Started => self.is_exec_decided = true,
            ReleaseState::ExecFailed(error) => {
                self.is_exec_decided = true;
                self.exec_error = Some(secrets::mask(&format!("'{}' cannot be run: {error}", self.program)));
            }
        }
    }

    /// Reaps exited children; returns whether any child is left.
    fn reap(&mut self) -> bool {
        self.check_exec();
        let Self { root, exited, exec_error, child, .. } = self;
        session_leader::reap_exited(&mut |pid, ended| {
            if pid == *root {
                child.release_terminal();
                *exited = Some(match (exec_error.take(), ended) {
                    (Some(why), _) => Exit::ExecFailed(why),
                    (None, ChildExit::Code(code)) => Exit::Code(code),
                    (None, ChildExit::Signal(signal)) => Exit::Signal(signal),
                });
            }
        })
        // On an error, assume that a child is left.
        .unwrap_or(true)
    }

    /// All live processes of the job.
    fn live_processes(&self) -> Vec<ProcessKey> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        // This process is the subreaper: every orphan of the job becomes its child.
        process_tree::subtree(own, Some(self.env_tag)).unwrap_or_default()
    }

    /// Sends the last signal to the orphans that it missed: they were forked while their parent ended. A child of a live process
    /// is left alone: its parent may have started it to handle the signal.
    fn signal_missed_orphans(&mut self, live: &[ProcessKey]) {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let Some((signal, signaled)) = &mut self.sent else { return };
        let is_orphan = |pid| process::stat(pid).ok().flatten().is_some_and(|stat| stat.parent == own);
        for key in live {
            if !signaled.contains(key) && is_orphan(key.pid) {
                send(key, *signal);
                signaled.push(key.clone());
            }
        }
    }

    fn signal_all(&mut self, signal: Signal) {
        // A process that is forked during a scan gets no signal in it; the next scan finds it.
        const MAX_SCANS: u8 = 3;
        let mut signaled = Vec::new();
        for _ in 0..MAX_SCANS {
            let new: Vec<_> = self.live_processes().into_iter().filter(|key| !signaled.contains(key)).collect();
            if new.is_empty() {
                break;
            }
            for key in new {
                send(&key, signal);
                signaled.push(key);
            }
        }
        self.sent = Some((signal, signaled));
    }

    fn report_processes(&mut self, event: &str, what: &str) {
        let found = self.live_processes();
        if found.is_empty() {
            return;
        }
        let mut names = Vec::new();
        for key in found.iter().take(MAX_NAMED_PROCESSES) {
            let name = process::names(key.pid).into_iter().next().unwrap_or_default();
            names.push((secrets::mask(&name), key.pid));
        }
        let more = match found.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed: Vec<String> = names.iter().map(|(name, pid)| format!("{name} ({pid})")).collect();
        let processes: Vec<_> = names.iter().map(|(name, pid)| json!({ "pid": pid, "name": name })).collect();
        let meta = json!({ "event": event, "count": found.len(), "processes": processes });
        self.journal.recorder.event(format!("{what}: {}{more}", listed.join(", ")), meta.to_string(), None);
    }
}

/// Signals a process. One of another user (sudo) cannot be signaled; it is reported as a survivor.
fn send(key: &ProcessKey, signal: Signal) {
    let _ = key.signal(signal);
    // A stopped process handles the signal only after it continues.
    if !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP | Signal::SIGCONT) {
        let _ = key.signal(Signal::SIGCONT);
    }
}
