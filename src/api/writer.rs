//! The one thread that writes to the store: what is asked of it goes in line. Decisions on tool calls are written in
//! batches, a moment after they were made.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::sync::oneshot;

use super::{
    error::Fault,
    live_project::{Current, Seed},
};
use crate::{
    actions::{App, boundary::guard, core::errors},
    domain::session::Session,
};

/// How many may stand in line.
const LINE: usize = 1_024;
/// How long decisions are gathered.
const GATHER: Duration = Duration::from_millis(10);
/// How many decisions may wait for a store that cannot be written.
const MOST_UNWRITTEN: usize = 10_000;

type Job = Box<dyn FnOnce(&mut Current) + Send>;

/// A decision on a tool call, to be recorded.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) session: Option<Session>,
    pub(super) call: guard::ToolCall,
    pub(super) verdict: guard::GuardDecision,
    pub(super) door: guard::EntryPoint,
    /// Who waits until it is recorded.
    pub(super) waits: Option<oneshot::Sender<Result<(), Fault>>>,
}

enum Task {
    Do(Job),
    /// A decision that somebody waits for.
    Record(Box<Decision>),
    /// Decisions are there that nobody waits for.
    Gather,
}

/// What others know about the thread.
#[derive(Debug, Default)]
struct State {
    /// The last batch of decisions was recorded.
    proven: AtomicBool,
    /// How much stands in line.
    waiting: AtomicUsize,
    /// Decisions that nobody waits for: the thread is woken for the first of them, and not for each.
    decisions: Mutex<Vec<Decision>>,
}

impl State {
    fn decisions(&self) -> MutexGuard<'_, Vec<Decision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread.
#[derive(Debug)]
pub(super) struct Writer {
    line: SyncSender<Task>,
    state: Arc<State>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Starts it.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(seed: Seed) -> std::io::Result<Self> {
        let (line, tasks) = sync_channel(LINE);
        let state = Arc::new(State::default());
        let known = Arc::clone(&state);
        let thread = thread::Builder::new().name("writer".into()).spawn(move || {
            // Read before, by whoever starts us: it fails only when that has changed since.
            if let Ok(current) = seed.open() {
                Work { current, state: known, unwritten: Vec::new() }.run(&tasks);
            }
        })?;
        Ok(Self { line, state, thread })
    }

    /// Puts something in line.
    ///
    /// # Errors
    /// When the line is full, or nobody works on it any more.
    fn put(&self, task: Task) -> Result<(), Fault> {
        self.state.waiting.fetch_add(1, SeqCst);
        self.line.try_send(task).map_err(|error| {
            self.state.waiting.fetch_sub(1, SeqCst);
            match error {
                TrySendError::Full(_) => Fault::busy(format!("{LINE} changes stand in line already")),
                TrySendError::Disconnected(_) => Fault::internal("nobody writes any more"),
            }
        })
    }

    /// Has something done; the answer comes by the receiver.
    ///
    /// # Errors
    /// As [`Writer::put`] fails.
    pub(super) fn change<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, Fault>>, Fault> {
        let (tell, told) = oneshot::channel();
        self.put(Task::Do(Box::new(move |current| {
            // Who asked has gone: nothing was promised.
            if !tell.is_closed() {
                let _ = tell.send(done(current, job));
            }
        })))?;
        Ok(told)
    }

    /// Has a decision recorded.
    ///
    /// # Errors
    /// As [`Writer::put`] fails.
    pub(super) fn record(&self, decision: Decision) -> Result<(), Fault> {
        if decision.waits.is_some() {
            return self.put(Task::Record(Box::new(decision)));
        }
        let mut decisions = self.state.decisions();
        if decisions.len() >= MOST_UNWRITTEN {
            return Err(Fault::busy(format!("{MOST_UNWRITTEN} decisions wait to be recorded")));
        }
        decisions.push(decision);
        if decisions.len() > 1 {
            return Ok(());
        }
        // What is not said to be there would lie there: it is not taken then.
        self.put(Task::Gather).inspect_err(|_| decisions.clear())
    }

    /// Whether what is put in line now will be recorded soon, as far as can be told.
    pub(super) fn is_well(&self) -> bool {
        self.state.proven.load(SeqCst)
            && self.state.waiting.load(SeqCst) < LINE / 2
            && self.state.decisions().len() < MOST_UNWRITTEN / 2
    }

    /// Waits until everything in line is done.
    pub(super) fn end(self) {
        drop(self.line);
        let _ = self.thread.join();
    }
}

/// Does something in a house, whatever becomes of it.
pub(super) fn done<T>(current: &mut Current, job: impl FnOnce(&App) -> Result<T>) -> Result<T, Fault> {
    let done = catch_unwind(AssertUnwindSafe(|| job(current.app()?)));
    let done = done.unwrap_or_else(|_| Err(errors::internal("a change broke off")));
    done.map_err(|error| {
        current.learn(&error);
        error.into()
    })
}

struct Work {
    current: Current,
    state: Arc<State>,
    /// Decisions that were acted on and could not be recorded yet.
    unwritten: Vec<Decision>,
}

impl Work {
    fn run(mut self, tasks: &Receiver<Task>) {
        while let Ok(task) = tasks.recv() {
            self.state.waiting.fetch_sub(1, SeqCst);
            match task {
                Task::Do(job) => job(&mut self.current),
                Task::Record(decision) => {
                    self.unwritten.push(*decision);
                    self.write();
                }
                Task::Gather => {
                    let next = self.gather(tasks);
                    self.write();
                    if let Some(job) = next {
                        job(&mut self.current);
                    }
                }
            }
        }
        self.write();
    }

    /// Waits a moment for more decisions; ends at once at one that somebody waits for, and at something else to do.
    fn gather(&mut self, tasks: &Receiver<Task>) -> Option<Job> {
        let deadline = Instant::now() + GATHER;
        while let Ok(task) = tasks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.state.waiting.fetch_sub(1, SeqCst);
            match task {
                Task::Do(job) => return Some(job),
                Task::Record(decision) => {
                    self.unwritten.push(*decision);
                    return None;
                }
                Task::Gather => {}
            }
        }
        None
    }

    /// Records what is to be recorded.
    fn write(&mut self) {
        self.unwritten.append(&mut self.state.decisions());
        // Who was told no meanwhile, because it took too long, is not recorded as told yes.
        self.unwritten.retain(|one| one.waits.as_ref().is_none_or(|waits| !waits.is_closed()));
        if self.unwritten.is_empty() {
            return;
        }
        let batch = &self.unwritten;
        let written = done(&mut self.current, |app| {
            app.transaction(|tx| {
                for one in batch {
                    guard::record(tx, one.door, one.session.as_ref(), &one.call, &one.verdict)?;
                }
                Ok(())
            })
        });
        self.state.proven.store(written.is_ok(), SeqCst);
        let mut left = Vec::new();
        for one in self.unwritten.drain(..) {
            match (one.waits, &written) {
                (Some(waits), _) => drop(waits.send(written.clone())),
                (None, Err(_)) => left.push(Decision { waits: None, ..one }),
                (None, Ok(())) => {}
            }
        }
        let surplus = left.len().saturating_sub(MOST_UNWRITTEN);
        left.drain(..surplus);
        self.unwritten = left;
    }
}
