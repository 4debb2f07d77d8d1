//! The loop of a structured session's supervisor: it reports events to the state machine and carries out its effects. One
//! thread, which blocks in `poll` while nothing happens.

use std::{
    collections::VecDeque,
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
};
use serde_json::Value;

use super::{
    control::StructuredControl,
    frame_log::FrameLog,
    sink::{Judgement, SinkReply, StructuredSink},
};
use crate::{
    acp::{Effect, Event, Frame, FrameReader, Line, StateMachine, StateMachineConfig},
    adapters::{
        StartConfig,
        plumbing::{
            SessionDir,
            run_program::{self, SessionProgram, print_started},
            transcript::{MAX_TRANSCRIPT_BYTES, Transcript},
        },
    },
    domain::{ansi, secrets},
    env::Env,
    os::{
        child::Running,
        command::Program,
        duplex_child::{ChildStream, DuplexChild},
        poll_timeout::poll_timeout,
        process_tree,
        request_socket::Incoming,
    },
};

/// How much waits for an agent that does not read its stdin, in bytes.
const MAX_OUTBOX_BYTES: usize = 32 << 20;
/// How long an agent that has closed its stdout may take to end.
const EXIT_WINDOW: Duration = Duration::from_secs(1);
/// How long an agent's processes have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How much of the agent's stderr is kept for the message of a failed start, in bytes.
const MAX_STDERR_BYTES: usize = 2_000;
/// Reads that empty a full pipe which has no writer any more.
const FINAL_READS: u8 = 16;

/// Runs a structured session to its end and answers with its agent's exit code. `open_sink` gets the start configuration and the
/// agent's environment; `ended` the exit code. A line on stdout says that the session is open.
///
/// # Errors
/// When there is no such session, it runs already, or the agent cannot be started or opens no session.
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
    child: DuplexChild,
    machine: StateMachine,
    sink: Box<dyn StructuredSink>,
    control: StructuredControl,
    transcript: Transcript,
    frames: FrameLog,
    reader: FrameReader,
    outbox: VecDeque<u8>,
    stderr: Vec<u8>,
    started: Instant,
    /// The environment tag of the session's processes.
    mark: Option<String>,
    is_ready: bool,
    /// Why the session cannot go on.
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
            refuse_unguarded: settings.refuse_unguarded,
        };
        Ok(Self {
            control: StructuredControl::open(dir)?,
            transcript: Transcript::open(&transcript, MAX_TRANSCRIPT_BYTES)?,
            frames: FrameLog::open(&transcript, begun)?,
            child: DuplexChild::spawn(program)?,
            machine: StateMachine::new(config),
            sink,
            reader: FrameReader::default(),
            outbox: VecDeque::new(),
            stderr: Vec::new(),
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
            if let Some(code) = self.child.running.reap()? {
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
            self.write();
            let is_due = |due: Option<Duration>| due.is_some_and(|due| due <= self.started.elapsed());
            if is_due(self.machine.due()) {
                self.handle(Event::Tick);
            }
            self.check_exit();
        }
    }

    /// An agent that has closed its stdout is about to end, or is of no use.
    fn check_exit(&mut self) {
        match self.exit_due {
            None if self.child.is_stdout_closed() => self.exit_due = Some(Instant::now() + EXIT_WINDOW),
            Some(due) if due <= Instant::now() => self.fail("it has closed its output"),
            _ => {}
        }
    }

    fn fail(&mut self, why: &str) {
        self.failure.get_or_insert_with(|| why.to_owned());
    }

    fn end_agent(&mut self) -> io::Result<i32> {
        self.write();
        self.child.close_input();
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        process_tree::terminate(GRACE, || process_tree::subtree(own, self.mark.as_deref()))?;
        let code = self.child.running.reap()?;
        // An agent that ends well after a failure has failed all the same.
        Ok(code.filter(|code| *code != 0).unwrap_or(1))
    }

    fn wait(&self) -> io::Result<()> {
        let of_machine = self.machine.due().map(|due| due.saturating_sub(self.started.elapsed()));
        let of_exit = self.exit_due.map(|due| due.saturating_duration_since(Instant::now()));
        let left = of_machine.into_iter().chain(of_exit).min();
        let mut watched = vec![PollFd::new(self.child.running.as_fd(), PollFlags::POLLIN)];
        watched.extend(self.child.outputs().map(|stream| PollFd::new(stream, PollFlags::POLLIN)));
        if !self.outbox.is_empty() {
            watched.extend(self.child.input().map(|stdin| PollFd::new(stdin, PollFlags::POLLOUT)));
        }
        watched.extend(self.sink.wake_fd().map(|wake| PollFd::new(wake, PollFlags::POLLIN)));
        watched.extend(self.control.poll_fds());
        match poll(&mut watched, poll_timeout(left)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads and handles what the agent has written. Returns the number of bytes.
    fn read(&mut self) -> usize {
        let (mut lines, frames, reader, stderr) = (Vec::new(), &mut self.frames, &mut self.reader, &mut self.stderr);
        let read = self.child.read(&mut |stream, bytes| match stream {
            ChildStream::Stdout => reader.push(bytes, &mut |line| {
                lines.push(match line {
                    Line::Complete(line) => {
                        frames.write('<', line);
                        Frame::parse(line)
                    }
                    Line::TooLong => Err("a line above the limit"),
                });
            }),
            ChildStream::Stderr => {
                frames.write('!', bytes);
                stderr.extend_from_slice(bytes);
                let surplus = stderr.len().saturating_sub(MAX_STDERR_BYTES);
                stderr.drain(..surplus);
            }
        });
        for line in lines {
            self.handle(Event::Line(line));
        }
        read
    }

    fn answer_requests(&mut self) {
        for came in self.control.poll() {
            match came {
                Incoming::Request(id, command) => self.handle(Event::Request(id, command)),
                Incoming::Closed(_) => {}
            }
        }
    }

    fn write(&mut self) {
        while !self.outbox.is_empty() {
            let (bytes, _) = self.outbox.as_slices();
            let written = self.child.write(bytes);
            if written == 0 {
                return;
            }
            self.outbox.drain(..written);
        }
        self.outbox.shrink_to(64 << 10);
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
                        let SinkReply { context, prompt, note } = self.sink.report(&report);
                        if let Some(note) = note {
                            let text = self.machine.note(&note);
                            self.print(&text);
                        }
                        events.extend(context.map(Event::Context));
                        events.extend(prompt.map(Event::Continue));
                    }
                    Effect::Ask { question, request } => {
                        if let Judgement::Decided(choice) = self.sink.judge(question, &request) {
                            events.push_back(Event::Decided { question, choice });
                        }
                    }
                    Effect::Withdraw { question, why } => self.sink.withdraw(question, why),
                    Effect::Reply(id, result) => self.control.reply(id, &result),
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
        self.write();
    }

    fn send(&mut self, frame: &Value) {
        let line = frame.to_string();
        self.frames.write('>', line.as_bytes());
        self.outbox.extend(line.as_bytes());
        self.outbox.push_back(b'\n');
        if self.outbox.len() > MAX_OUTBOX_BYTES {
            self.fail("it does not read its input");
        }
    }

    /// Adds a text to the transcript.
    fn print(&mut self, text: &str) {
        self.transcript.write(text.as_bytes());
    }

    /// The reason why the session was not opened.
    fn start_failure(&self, code: i32) -> String {
        let why = self.failure.clone().unwrap_or_else(|| format!("it ended with exit code {code}"));
        let said = secrets::mask(ansi::visible_text(&String::from_utf8_lossy(&self.stderr)).trim());
        let said = if said.is_empty() { said } else { format!("; the last that it printed:\n{said}") };
        format!("the agent cannot be used by the Agent Client Protocol: {why}{said}")
    }
}

impl SessionProgram for AgentSession {
    fn running(&self) -> &Running {
        &self.child.running
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
