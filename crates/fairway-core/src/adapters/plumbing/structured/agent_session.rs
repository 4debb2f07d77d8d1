//! The loop of a structured session's supervisor: it reports events to the state machine and carries out its effects. It has one
//! thread, which blocks in `poll` while nothing happens.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use serde_json::Value;

use super::agent_link::AgentLink;
use super::frame_log::FrameLog;
use super::sink::{Judgement, SinkReply, StructuredSink};
use crate::acp::{Command, Effect, Event, Proof, StateMachine, StateMachineConfig};
use crate::adapters::StartConfig;
use crate::adapters::plumbing::SessionDir;
use crate::adapters::plumbing::control_socket::ControlSocket;
use crate::adapters::plumbing::run_program::{self, SessionProgram, print_started};
use crate::adapters::plumbing::transcript::{MAX_TRANSCRIPT_BYTES, Transcript};
use crate::domain::usage::UsageScope;
use crate::env::Env;
use crate::os::command::Program;
use crate::os::poll::poll_timeout;
use crate::os::process_tree;
use crate::os::request_socket::Incoming;
use crate::os::session_leader::Running;

/// How long an agent that has closed its stdout may take to end.
const EXIT_WINDOW: Duration = Duration::from_secs(1);
/// How long an agent's processes have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// Reads that empty a full pipe which has no writer any more.
const FINAL_READS: u8 = 16;

/// Runs the agent of a structured session (one over the Agent Client Protocol) to its end and returns the agent's exit code.
/// `open_sink` gets the start configuration and returns the receiver of the session's reports. `ended` gets the start
/// configuration and the exit code. This process prints a line on stdout once the agent has opened its session.
///
/// # Errors
/// When the session does not exist or is already running, the agent cannot be started, or the agent opens no session.
pub fn run_agent(
    env: &Env,
    dir: &SessionDir,
    open_sink: impl FnOnce(&StartConfig) -> Box<dyn StructuredSink>,
    ended: impl FnOnce(&StartConfig, i32),
) -> io::Result<i32> {
    let mut open_sink = Some(open_sink);
    let mut start_program = |program: &Program<'_>, start: &StartConfig, mark: Option<&str>| {
        let open_sink = open_sink.take().ok_or_else(|| io::Error::other("the session was started already"))?;
        let session = AgentSession::start(program, dir, start, mark, open_sink(start))?;
        Ok(Box::new(session) as Box<dyn SessionProgram>)
    };
    run_program::run_detached(env, dir, &mut start_program, ended)
}

/// An agent with its supervisor's state.
struct AgentSession {
    link: AgentLink,
    machine: StateMachine,
    sink: Box<dyn StructuredSink>,
    control: ControlSocket<Command>,
    transcript: Transcript,
    frames: FrameLog,
    started: Instant,
    /// The environment tag of the session's processes.
    mark: Option<String>,
    is_ready: bool,
    /// Why the session cannot continue.
    failure: Option<String>,
    /// When an agent that has closed its stdout is ended.
    exit_due: Option<Instant>,
}

impl AgentSession {
    fn start(
        program: &Program<'_>,
        dir: &SessionDir,
        start: &StartConfig,
        mark: Option<&str>,
        sink: Box<dyn StructuredSink>,
    ) -> io::Result<Self> {
        let transcript = dir.transcript_path()?;
        let begun = Instant::now();
        let settings = start.structured.clone().unwrap_or_default();
        let config = StateMachineConfig {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd: program.cwd.to_string_lossy().into_owned(),
            mode: settings.mode,
            resume: settings.resume,
            proof: Proof::Of(settings.proven_agent),
            refuse_unguarded: settings.refuse_unguarded,
            asks_for_all: settings.asks_for_all,
            usage: settings.usage.as_deref().and_then(UsageScope::parse).unwrap_or(UsageScope::Turn),
        };
        Ok(Self {
            control: ControlSocket::open(dir)?,
            transcript: Transcript::open(&transcript, MAX_TRANSCRIPT_BYTES)?,
            frames: FrameLog::open(&transcript, begun)?,
            link: AgentLink::spawn(program)?,
            machine: StateMachine::new(config),
            sink,
            started: begun,
            mark: mark.map(str::to_owned),
            is_ready: false,
            failure: None,
            exit_due: None,
        })
    }

    /// Handles events until the agent has ended.
    fn run_to_end(&mut self) -> io::Result<i32> {
        self.handle(Event::Started);
        loop {
            if let Some(code) = self.link.child.running.reap()? {
                return Ok(code);
            }
            if self.failure.is_some() {
                return self.end_agent();
            }
            self.wait()?;
            self.read();
            self.answer_requests();
            for (question, choice) in self.sink.decisions() {
                self.handle(Event::Decided { question, choice });
            }
            self.link.write();
            let is_due = |due: Option<Duration>| due.is_some_and(|due| due <= self.started.elapsed());
            if is_due(self.machine.due()) {
                self.handle(Event::Tick);
            }
            self.check_exit();
        }
    }

    /// An agent that has closed its stdout is expected to exit; after [`EXIT_WINDOW`] it is ended.
    fn check_exit(&mut self) {
        match self.exit_due {
            None if self.link.child.is_stdout_closed() => self.exit_due = Some(Instant::now() + EXIT_WINDOW),
            Some(due) if due <= Instant::now() => self.fail("it has closed its output"),
            _ => {}
        }
    }

    fn fail(&mut self, why: &str) {
        self.failure.get_or_insert_with(|| why.to_owned());
    }

    fn end_agent(&mut self) -> io::Result<i32> {
        self.link.write();
        self.link.child.close_input();
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        process_tree::terminate(GRACE, || process_tree::subtree(own, self.mark.as_deref()))?;
        let code = self.link.child.running.reap()?;
        // An agent that exits with 0 after a failure has failed all the same.
        Ok(code.filter(|code| *code != 0).unwrap_or(1))
    }

    fn wait(&self) -> io::Result<()> {
        let of_machine = self.machine.due().map(|due| due.saturating_sub(self.started.elapsed()));
        let of_exit = self.exit_due.map(|due| due.saturating_duration_since(Instant::now()));
        let left = of_machine.into_iter().chain(of_exit).min();
        let mut watched = self.link.poll_fds();
        watched.extend(self.sink.wake_fd().map(|wake| PollFd::new(wake, PollFlags::POLLIN)));
        watched.extend(self.control.poll_fds());
        match poll(&mut watched, poll_timeout(left)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads and handles what the agent has written. Returns the number of bytes.
    fn read(&mut self) -> usize {
        let frames = &mut self.frames;
        let (read, lines) = self.link.read(&mut |sign, bytes| frames.write(sign, bytes));
        for line in lines {
            self.handle(Event::Line(line));
        }
        read
    }

    fn answer_requests(&mut self) {
        for came in self.control.poll() {
            match came {
                Incoming::Request(id, command) => self.handle(Event::Request(id, command)),
                Incoming::Closed(id) => self.handle(Event::RequestGone(id)),
            }
        }
    }

    /// Passes an event to the state machine and carries out the effects.
    fn handle(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.machine.step(event, self.started.elapsed()) {
                match effect {
                    Effect::Send(frame) => self.send(&frame),
                    Effect::Print(text) => self.print(&text),
                    Effect::Report(report) => {
                        let SinkReply { context, prompt, note, refuted } = self.sink.report(&report);
                        if let Some(note) = note {
                            let text = self.machine.note(&note);
                            self.print(&text);
                        }
                        events.extend(context.map(Event::Context));
                        events.extend(prompt.map(Event::Continue));
                        events.extend(refuted.map(Event::Refuted));
                    }
                    Effect::Ask { question, request } => {
                        if let Judgement::Decided(choice) = self.sink.judge(question, &request) {
                            events.push_back(Event::Decided { question, choice });
                        }
                    }
                    Effect::Withdraw { question, why } => self.sink.withdraw(question, why),
                    Effect::Reply(id, result) => {
                        self.control.reply(id, result.as_ref().copied().map_err(String::as_str));
                    }
                    Effect::Ready => {
                        self.is_ready = true;
                        if print_started().is_err() {
                            self.fail("the process that started the session is gone");
                        }
                        events.push_back(Event::Tick);
                    }
                    Effect::Fail(why) => self.fail(&why),
                }
            }
        }
        for id in self.machine.begin_pause(self.started.elapsed()) {
            self.control.reply(id, Ok(()));
        }
        self.link.write();
    }

    fn send(&mut self, frame: &Value) {
        match self.link.send(frame) {
            Ok(line) => self.frames.write('>', line.as_bytes()),
            Err(why) => self.fail(why),
        }
    }

    /// Adds a text to the transcript.
    fn print(&mut self, text: &str) {
        self.transcript.write(text.as_bytes());
    }

    /// The reason why the session was not opened.
    fn start_failure(&self, code: i32) -> String {
        let why = self.failure.clone().unwrap_or_else(|| format!("it ended with exit code {code}"));
        let said = self.link.last_stderr();
        let said = if said.is_empty() { said } else { format!("; the last that it printed:\n{said}") };
        format!("the agent cannot be used by the Agent Client Protocol: {why}{said}")
    }
}

impl SessionProgram for AgentSession {
    fn running(&self) -> &Running {
        &self.link.child.running
    }

    fn wait_for_exit(&mut self) -> io::Result<i32> {
        let code = self.run_to_end();
        for _ in 0..FINAL_READS {
            if self.read() == 0 {
                break;
            }
        }
        self.handle(Event::AgentGone);
        match (code?, self.is_ready) {
            (code, true) => Ok(code),
            (code, false) => Err(io::Error::other(self.start_failure(code))),
        }
    }

    fn drain_output(self: Box<Self>) {}
}
