//! The one who looks after a run, from its gate to its end: tells the machine what happens, and does what it says. One
//! thread, which sleeps while nothing happens.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    io,
    os::fd::AsFd,
    path::Path,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
    sys::signal::Signal,
};
use serde_json::json;
use thiserror::Error;

use super::{
    Recorder, RunFolder, Sink, SinkError,
    child::{Begin, Child},
    control_socket::{Came, Door, Reply, Request},
    input_queue::Typing,
    journal::{Book, Desk, timeout},
    state_machine::{Effect, Event, Exit, Machine},
    watchers::Watching,
};
use crate::{
    domain::{
        run::{Ending, RunStatus, TerminalSize},
        secrets,
    },
    os::{
        child,
        held_process::Opened,
        process::{self, ProcessKey},
        process_tree,
        reap::{self, Ended},
        signals::{self, Caught},
    },
};

/// How many processes are named at most.
const NAMED: usize = 16;

/// A run that is to be looked after.
pub struct Order<'a> {
    /// Its folder, whose lock this process holds.
    pub folder: &'a RunFolder,
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// Its whole environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The entry of it (`NAME=value`) that nobody else's processes have. What has another one of that name is a run of its
    /// own.
    pub mark: &'a str,
    /// Its working directory.
    pub cwd: &'a Path,
    /// What it reads.
    pub stdin: Option<Vec<u8>>,
    /// The size of its terminal, when it has one.
    pub pty: Option<TerminalSize>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// The key of a message, from what a watcher calls it.
    pub key: &'a dyn Fn(&str) -> String,
}

/// Whoever hears what happens to a run, and knows what has happened to it before.
pub trait Host: Sink {
    /// What is kept of the output goes on from here, and this is looked for in it. Asked once, when the program has begun or
    /// never will: it waits for nothing that can wait.
    fn kept(&mut self) -> (Recorder, Watching);
}

/// Why a run was not looked after to its end.
#[derive(Debug, Error)]
pub enum SuperviseError {
    /// It was not written down; nothing was begun, or the end is in the folder for whoever comes.
    #[error("the run could not be written down: {0}")]
    Sink(#[from] SinkError),
    /// The operating system does not do what is needed; nothing was begun.
    #[error("the run could not be looked after: {0}")]
    System(#[from] io::Error),
}

/// Looks after a run until it has ended and that is written.
///
/// # Errors
/// When it could not be written down that it begins, which then did not happen, or that it has ended.
pub fn supervise<'a>(order: Order<'a>, sink: &'a mut dyn Host) -> Result<(), SuperviseError> {
    signals::outlive_large_files();
    let signals = Caught::these(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD])?;
    let Order { folder, argv, env, cwd, stdin, pty, .. } = order;
    let mut desk = Desk::new(folder, signals, sink);
    let unstarted = |desk: Desk<'a>, ending: Ending| desk.open(order.key).unstarted(&ending);
    let door = match child::adopt().and_then(|()| Door::open(folder)) {
        Ok(door) => door,
        Err(error) => return unstarted(desk, failed(format!("it cannot be looked after: {error}"))),
    };
    let mut child = match Child::start(Begin { argv, env, cwd, stdin, pty }) {
        Ok(child) => child,
        Err(_) if !cwd.is_dir() => {
            return unstarted(desk, failed(format!("the folder {} is not there", cwd.display())));
        }
        Err(error) => return unstarted(desk, failed(format!("it cannot be started: {error}"))),
    };
    // A gate that is dropped before it was opened ends without having done anything.
    let key = child.gate.key().clone();
    desk.begin(&key)?;
    if let Some(signal) = desk.told()? {
        drop(child);
        let why = format!("its supervisor was told to end, by {signal}, before it began");
        return unstarted(desk, Ending { status: RunStatus::Canceled, ..failed(why) });
    }
    if let Err(error) = folder.note_begun().and_then(|()| child.gate.open()) {
        drop(child);
        return unstarted(desk, failed(format!("it could not be let begin: {error}")));
    }
    let begun = Instant::now();
    let book = desk.open(order.key);
    let mut at_work = Loop {
        root: key.pid,
        mark: order.mark,
        program: argv.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default(),
        begun,
        machine: Machine::new(order.timeout),
        child,
        door,
        typing: Typing::default(),
        killers: Vec::new(),
        is_decided: false,
        refused: None,
        exited: None,
        is_silent: false,
        over: None,
        book,
    };
    let ending = at_work.until_over().unwrap_or_else(|error| {
        // What nobody looks after must not go on.
        let _ = process_tree::end(Duration::ZERO, || Ok(at_work.below()));
        failed(format!("it could not be looked after any longer, and was ended: {error}"))
    });
    let Loop { mut book, mut door, killers, child, .. } = at_work;
    // Nobody types to what has ended, and who holds its streams still is none of the run's.
    drop(child);
    book.end(&ending)?;
    // Who is answered finds nothing of the run going on.
    door.shut();
    for id in killers {
        door.answer(id, &Reply::Ended);
    }
    Ok(())
}

fn failed(why: String) -> Ending {
    Ending { status: RunStatus::Failed, exit_code: None, signal: None, error_message: Some(secrets::masked(&why)) }
}

/// A run that has begun.
struct Loop<'a> {
    root: i32,
    mark: &'a str,
    program: String,
    begun: Instant,
    machine: Machine,
    child: Child,
    door: Door,
    typing: Typing,
    /// Who waits at the door for the end.
    killers: Vec<u64>,
    /// Whether it is known if the program could be run.
    is_decided: bool,
    /// Why it could not.
    refused: Option<String>,
    /// The program was buried, and the machine does not know yet.
    exited: Option<Exit>,
    is_silent: bool,
    over: Option<Ending>,
    book: Book<'a>,
}

impl Loop<'_> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Goes on until everything is over and read.
    fn until_over(&mut self) -> io::Result<Ending> {
        // How much can still lie in pipes that nobody writes to any more.
        const LAST_READS: u8 = 4;
        loop {
            if let Some(ending) = self.over.take() {
                for _ in 0..LAST_READS {
                    if self.read() == 0 {
                        break;
                    }
                }
                return Ok(ending);
            }
            self.wait()?;
            self.turn()?;
        }
    }

    fn wait(&self) -> io::Result<()> {
        let book = self.book.due().map(|due| due.saturating_sub(self.book.now()));
        let own = [self.machine.due(), self.typing.due()].into_iter().flatten().min();
        let left = own.map(|due| due.saturating_sub(self.now())).into_iter().chain(book).min();
        let mut watched = vec![PollFd::new(self.book.desk.signals.as_fd(), PollFlags::POLLIN)];
        if !self.is_decided {
            watched.push(PollFd::new(self.child.gate.as_fd(), PollFlags::POLLIN));
        }
        watched.extend(self.child.pipes().map(|pipe| PollFd::new(pipe, PollFlags::POLLIN)));
        if let Some(terminal) = self.child.terminal() {
            let wanted = if self.typing.is_busy() { PollFlags::POLLOUT } else { PollFlags::empty() };
            watched.push(PollFd::new(terminal.as_fd(), PollFlags::POLLIN | wanted));
        }
        watched.extend(self.child.reading().map(|pipe| PollFd::new(pipe, PollFlags::POLLOUT)));
        watched.extend(self.door.watched());
        match poll(&mut watched, timeout(left)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let mut has_died = false;
        while let Some(signal) = self.book.desk.signals.next()? {
            if signal == Signal::SIGCHLD {
                has_died = true;
            } else {
                self.happen(Event::Told(signal));
            }
        }
        self.look_at_gate();
        self.answer_door();
        self.read();
        self.child.feed();
        for (id, reply) in self.typing.go_on(self.child.terminal_mut(), self.begun.elapsed()) {
            self.door.answer(id, &reply);
        }
        if self.child.is_silent() && !self.is_silent {
            self.is_silent = true;
            self.happen(Event::Silent);
        }
        if has_died {
            self.bury();
        }
        if let Some(exit) = self.exited.take() {
            self.happen(Event::Exited(exit));
        }
        if has_died || self.machine.due().is_some_and(|due| due <= self.now()) {
            self.happen(Event::Turn);
        }
        self.book.go_on();
        Ok(())
    }

    fn answer_door(&mut self) {
        for came in self.door.look() {
            match came {
                Came::Asked(id, Request::Kill { signal, grace }) => {
                    self.killers.push(id);
                    self.happen(Event::Kill { signal, grace });
                }
                Came::Asked(id, Request::Type(inputs)) => match (self.child.had_terminal(), self.child.terminal()) {
                    (false, _) => self.door.answer(id, &Reply::NoTerminal),
                    (true, None) => self.door.answer(id, &Reply::Over(0)),
                    (true, Some(_)) => self.typing.add(id, inputs),
                },
                Came::Gone(id) => {
                    self.killers.retain(|killer| *killer != id);
                    self.typing.forget(id);
                }
            }
        }
    }

    fn read(&mut self) -> usize {
        let Self { child, book, typing, .. } = self;
        let has_terminal = child.had_terminal();
        child.read(&mut |stream, bytes| {
            if has_terminal {
                typing.modes.see(bytes);
            }
            book.printed(stream, bytes);
        })
    }

    /// Tells the machine, and does what it says.
    fn happen(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let (machine, effects) = self.machine.clone().step(event, self.now());
            self.machine = machine;
            for effect in effects {
                match effect {
                    Effect::Note(ending) => {
                        // The store will know; this is for whoever comes after one that dies before that.
                        let _ = self.book.desk.folder.note_ended(&ending);
                    }
                    Effect::Look => {
                        let is_left = self.bury() && !self.below().is_empty();
                        events.extend(self.exited.take().map(Event::Exited));
                        events.push_back(Event::Looked { is_left });
                    }
                    Effect::NameLeftovers => self.name("leftovers", "left behind by the program, and ended"),
                    Effect::NameSurvivors => self.name("survivors", "could not be ended"),
                    Effect::Signal(signal) => self.signal(signal),
                    Effect::Finish(ending) => self.over = Some(ending),
                }
            }
        }
    }

    /// Whether the program could be run. Looked at before its end is: what it has to say it says first.
    fn look_at_gate(&mut self) {
        if self.is_decided {
            return;
        }
        match self.child.gate.look() {
            Opened::Undecided => {}
            Opened::Begun => self.is_decided = true,
            Opened::Refused(error) => {
                self.is_decided = true;
                self.refused = Some(secrets::masked(&format!("'{}' cannot be run: {error}", self.program)));
            }
        }
    }

    /// Buries the dead; says whether any child is left.
    fn bury(&mut self) -> bool {
        self.look_at_gate();
        let Self { root, exited, refused, child, .. } = self;
        reap::bury(&mut |pid, ended| {
            if pid == *root {
                child.let_go();
                *exited = Some(match (refused.take(), ended) {
                    (Some(why), _) => Exit::Refused(why),
                    (None, Ended::Code(code)) => Exit::Code(code),
                    (None, Ended::Signal(signal)) => Exit::Signal(signal),
                });
            }
        })
        // Who cannot be waited for may be there.
        .unwrap_or(true)
    }

    /// Everything of the run that lives.
    fn below(&self) -> Vec<ProcessKey> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        // Every orphan is handed to us, so that nothing of the run is elsewhere.
        process_tree::below(own, Some(self.mark)).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) {
        // Who is born while the others are told would hear nothing, and be waited for as long as may be.
        const LOOKS: u8 = 3;
        let mut told = Vec::new();
        for _ in 0..LOOKS {
            let new: Vec<_> = self.below().into_iter().filter(|key| !told.contains(key)).collect();
            if new.is_empty() {
                return;
            }
            for key in new {
                // Another user's, started through sudo, does not hear us; it is named when it stays.
                let _ = key.signal(signal);
                // What is stopped hears nothing until it goes on.
                if !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP | Signal::SIGCONT) {
                    let _ = key.signal(Signal::SIGCONT);
                }
                told.push(key);
            }
        }
    }

    fn name(&mut self, event: &str, what: &str) {
        let found = self.below();
        if found.is_empty() {
            return;
        }
        let mut names = Vec::new();
        for key in found.iter().take(NAMED) {
            let name = process::names(key.pid).into_iter().next().unwrap_or_default();
            names.push((secrets::masked(&name), key.pid));
        }
        let more = match found.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let said: Vec<String> = names.iter().map(|(name, pid)| format!("{name} ({pid})")).collect();
        let processes: Vec<_> = names.iter().map(|(name, pid)| json!({ "pid": pid, "name": name })).collect();
        let meta = json!({ "event": event, "count": found.len(), "processes": processes });
        self.book.recorder.event(format!("{what}: {}{more}", said.join(", ")), meta.to_string(), None);
    }
}
